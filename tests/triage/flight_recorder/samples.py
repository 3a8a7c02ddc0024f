"""Dumps of torch's flight recorder, as ranks write them."""

import json
from pathlib import Path
from typing import Any

from nccltool.triage import flight_recorder


def entry(place: int, op: str = "gloo:all_reduce", sizes: int = 8, dtype: str = "Float", **more: Any) -> Any:
    known = {
        "collective_seq_id": place,
        "input_dtypes": [dtype],
        "input_sizes": [[sizes]],
        "is_p2p": False,
        "process_group": ["0", "default_pg"],
        "profiling_name": op,
        "retired": True,
        "state": "scheduled",
    }
    return known | more


def waits(place: int, **more: Any) -> Any:
    return entry(place, **({"retired": False} | more))


def message(
    name: str, place: int, size: int = 8, dtype: str = "Float", finished: bool = False, **more: Any
) -> dict[str, Any]:
    """A send or recv as ProcessGroupNCCL records it: "send 0->1", "recv 1<-0"."""
    known = {
        "collective_seq_id": 0,
        "frames": [],
        "input_dtypes": [dtype],
        "input_sizes": [[size]],
        "is_p2p": True,
        "op_id": place,
        "output_dtypes": [dtype],
        "output_sizes": [[size]],
        "p2p_seq_id": place,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "profiling_name": f"nccl:{name}",
        "record_id": place - 1,
        "retired": finished,
        "state": "completed" if finished else "started",
    }
    return known | more


def batch(place: int, *names: str, finished: bool = False) -> list[dict[str, Any]]:
    """What batch_isend_irecv records: only the last entry knows how far the batch is."""
    inside = [message(name, place, state="scheduled") for name in names]
    end = message("coalesced", place, finished=finished, input_sizes=[], output_sizes=[])
    return [*inside, end]


def write(folder: Path, *ranks: list[Any], world: int = 0) -> list[flight_recorder.RecorderDump]:
    for rank, entries in enumerate(ranks):
        document = {
            "entries": entries,
            "pg_config": {
                "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world or len(ranks))))}
            },
            "pg_status": {},
            "version": "2.10",
        }
        (folder / f"trace_{rank}.json").write_text(json.dumps(document))
    dumps = [flight_recorder.dump(str(folder / f"trace_{rank}.json")) for rank in range(len(ranks))]
    return [one for one in dumps if one]


GOOD = [entry(1), entry(2)]
