"""Files as NCCL Inspector writes them, in format v4.0."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nccltool.trace.inspector_calls import InspectorCalls

SIZE = 4 << 20


def record(number: int, took_us: int, *, rank: int = 0, ranks: int = 4, **more: Any) -> dict[str, Any]:
    """The keys of `more` belong to the collective, or to the header if it has them."""
    header = {"id": "0x7f8c496ae9f661", "comm_name": "unknown", "rank": rank, "n_ranks": ranks, "nnodes": 2}
    call = {
        "coll": "AllReduce",
        "coll_sn": number,
        "coll_msg_size_bytes": SIZE,
        "coll_exec_time_us": took_us,
        "coll_timing_source": "kernel_gpu",
        "coll_algobw_gbs": SIZE / took_us / 1e3 if took_us else 0.0,
        "coll_busbw_gbs": SIZE / took_us / 1e3 * 2 * (ranks - 1) / ranks if took_us else 0.0,
    }
    metadata = {
        "inspector_output_format_version": "v4.0",
        "git_rev": "",
        "rec_mechanism": "nccl_profiler_interface",
        "dump_timestamp_us": 1748030377748202,
        "hostname": f"node-{rank // 2}",
        "pid": 700 + rank,
    }
    header |= {key: value for key, value in more.items() if key in header}
    call |= {key: value for key, value in more.items() if key not in header}
    return {"header": header, "metadata": metadata, "coll_perf": call}


def sent(number: int, took_us: int, *, peer: int, is_send: bool = True, **place: Any) -> dict[str, Any]:
    """A send, or a receive, of SIZE bytes."""
    whole = record(number, took_us, **place)
    del whole["coll_perf"]
    whole["p2p_perf"] = {
        "p2p": "Send" if is_send else "Recv",
        "p2p_sn": number,
        "p2p_peer": peer,
        "p2p_msg_size_bytes": SIZE,
        "p2p_exec_time_us": took_us,
        "p2p_timing_source": "kernel_gpu",
        "p2p_algobw_gbs": SIZE / took_us / 1e3 if took_us else 0.0,
        "p2p_busbw_gbs": SIZE / took_us / 1e3 if took_us else 0.0,
    }
    return whole


def text(records: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in records).encode()


def logs(durations: Sequence[Sequence[int]], **more: Any) -> list[bytes]:
    """A file per rank: `durations[call][rank]` are microseconds."""
    ranks = len(durations[0])
    return [
        text([record(at, row[rank], rank=rank, ranks=ranks, **more) for at, row in enumerate(durations)])
        for rank in range(ranks)
    ]


def taken(files: Sequence[bytes]) -> InspectorCalls:
    calls = InspectorCalls()
    for number, content in enumerate(files):
        assert calls.take(f"{number}.log", [content]) == ""
    return calls


def write(folder: Path, files: Sequence[bytes]) -> Path:
    for rank, content in enumerate(files):
        (folder / f"node-{rank // 2}-pid{700 + rank}.log").write_bytes(content)
    return folder
