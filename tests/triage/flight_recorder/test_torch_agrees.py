"""The same dumps, and those of real ranks, judged by torch's own analyser: both name the same rank."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nccltool.triage import flight_recorder
from nccltool.triage.logs.base import LogEvent
from tests.triage.flight_recorder.samples import GOOD, batch, waits, write

pytestmark = pytest.mark.torch
_LIMIT_S = 120
_RANKS = (0, 1, 2)


def analysed(folder: Path) -> str:
    """torch's analysis of dumps, with what it wants to have in them on Gloo."""
    for rank in _RANKS:
        document = json.loads((folder / f"trace_{rank}.json").read_text())
        document["pg_config"] = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(_RANKS))}}
        for number, entry in enumerate(document["entries"]):
            entry["process_group"] = tuple(entry["process_group"])
            missing = {"frames": [], "record_id": number, "pg_id": 0, "p2p_seq_id": 0, "op_id": number + 1}
            document["entries"][number] = (
                missing
                | {"output_sizes": entry["input_sizes"], "output_dtypes": entry["input_dtypes"], "timeout_ms": 9}
                | {"time_created_ns": number, "time_discovered_started_ns": 0, "time_discovered_completed_ns": 0}
                | entry
            )
        (folder / f"dump_{rank}").write_bytes(pickle.dumps(document))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.flight_recorder.fr_trace",
        str(folder),
        "--prefix",
        "dump_",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    return done.stdout + done.stderr


def ours(folder: Path) -> LogEvent:
    dumps = [flight_recorder.dump(str(folder / f"trace_{rank}.json")) for rank in _RANKS]
    (event,) = flight_recorder.events([one for one in dumps if one])
    return event


@pytest.mark.parametrize(
    ("third", "error"),
    [
        ({"op": "nccl:broadcast"}, "COLLECTIVE_TYPE_MISMATCH"),
        ({"sizes": 9}, "SIZE_OR_SYNTAX_MISMATCH"),
        ({"dtype": "Half"}, "COLLECTIVE_DTYPE_MISMATCH"),
    ],
    ids=str,
)
def test_the_same_rank_made_another_call(tmp_path: Path, third: dict[str, Any], error: str) -> None:
    others = [*GOOD, waits(3)]
    write(tmp_path, others, [*GOOD, waits(3, **third)], others)
    said = analysed(tmp_path)
    assert error in said
    assert re.search(r"[Cc]ulprit rank 1", said)
    assert (ours(tmp_path).kind, ours(tmp_path).rank) == ("torch.fingerprint", 1)


def chain() -> list[list[Any]]:
    """Batches in which rank 0 sends to rank 1, and that one to rank 2."""
    return [
        batch(1, "send 0->1"),
        batch(1, "recv 1<-0", "send 1->2"),
        batch(1, "recv 2<-1"),
    ]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        pytest.param({"output_sizes": [[9]]}, [("torch.fingerprint", 0)], marks=pytest.mark.slow),
        ({"profiling_name": "nccl:recv 1<-2"}, [("torch.behind", 1), ("torch.behind", 2)]),
    ],
    ids=["alike", "size", "peer"],
)
def test_the_same_messages_do_not_match(
    tmp_path: Path, changed: dict[str, Any], found: list[tuple[str, int]]
) -> None:
    """Rank 1 takes another size, or waits for a rank that does not send to it."""
    ranks = chain()
    ranks[1][0] |= changed
    dumps = write(tmp_path, *ranks)
    assert [(event.kind, event.rank) for event in flight_recorder.events(dumps)] == found
    said = analysed(tmp_path)
    assert ("MISMATCH" in said, "Match" in said) == (bool(found), not found)


_RANK = """
import datetime, os, sys
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace_json
rank, folder = int(sys.argv[1]), sys.argv[2]
store = dist.FileStore(folder + "/store", 3)
dist.init_process_group("gloo", store=store, rank=rank, world_size=3, timeout=datetime.timedelta(seconds=60))
tensor = torch.ones(8)
dist.all_reduce(tensor)
dist.all_reduce(tensor)
if rank != 2:
    dist.all_reduce(tensor, async_op=True)
told = _dump_fr_trace_json(True, False)
with open(f"{folder}/trace_{rank}.json", "wb") as file:
    file.write(told if isinstance(told, bytes) else told.encode())
os._exit(0)
"""


def test_a_rank_that_did_not_come(tmp_path: Path) -> None:
    """Three real ranks, of which the last one leaves out a collective."""
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
    command = (sys.executable, "-c", _RANK)
    ranks = [subprocess.Popen([*command, str(rank), str(tmp_path)], env=environment) for rank in _RANKS]
    assert [rank.wait(_LIMIT_S) for rank in ranks] == [0, 0, 0]
    assert re.search(r"sequence number: 3\b[\s\S]*missing ranks: \{2\}", analysed(tmp_path))
    event = ours(tmp_path)
    assert (event.kind, event.get("ranks"), event.get("next")) == ("torch.behind", "2", "3")
