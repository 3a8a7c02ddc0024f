"""A link that is slow and whole, on which one call takes longer than --timeout: a slow row, and no hang."""

import json
import os
import signal

import pytest

from tests.lab.conftest import Start, join
from tests.lab.lab import Lab
from tests.support.commands import Command, until

pytestmark = pytest.mark.lab

RATE = "10mbit"
SIZES = [
    pytest.param("4MiB", 1.0, id="4 MiB"),  # 3.5 s a call
    pytest.param("64MiB", 5.0, id="64 MiB", marks=pytest.mark.slow),  # 56 s a call
]


def both(lab: Lab, start: Start, size: str, timeout_s: float) -> tuple[Command, Command]:
    """An all-reduce between the two hosts: one call is timed, another one checked."""
    for host in lab.hosts:
        lab.shape(host, RATE)
    words = ("--op", "all_reduce", "--sizes", size, "-n", "1", "-w", "0", "--timeout", f"{timeout_s:g}")
    first, second = (start(host, join(rank, 2, *words)) for rank, host in enumerate(lab.hosts))
    return first, second


@pytest.mark.parametrize(("size", "timeout_s"), SIZES)
def test_a_slow_call_ends_as_a_row(lab: Lab, start: Start, size: str, timeout_s: float) -> None:
    first, second = both(lab, start, size, timeout_s)
    ended = first.wait(240.0)
    assert (ended.code, second.wait(30.0).code) == (0, 0), ended.said
    (folder,) = ended.runs.iterdir()
    (row,) = json.loads((folder / "run.json").read_text())["measurements"]
    assert row["time_s"]["mean"] > 2 * timeout_s
    assert 0.8 * 10e6 < row["busbw_bytes_per_s"] * 8 < 1.05 * 10e6
    assert row["wrong"] == 0
    assert lab.quiet()


@pytest.mark.parametrize(("size", "timeout_s"), SIZES)
def test_a_rank_that_is_stopped_in_a_slow_call_is_named(
    lab: Lab, start: Start, size: str, timeout_s: float
) -> None:
    first, second = both(lab, start, size, timeout_s)
    pid = _pid_of_rank_1(second)
    os.kill(pid, signal.SIGSTOP)
    ended = first.wait(60.0)
    second.wait(60.0)
    assert ended.code == 3, ended.said
    hung = ended.findings["rank-hung"]
    assert (hung["subject"]["kind"], hung["subject"]["name"]) == ("rank", "1"), ended.said
    assert "its process is stopped (state T): something sent it SIGSTOP" in hung["evidence"]
    assert lab.quiet()


def _pid_of_rank_1(command: Command) -> int:
    """Once it is inside a timed call."""
    found: dict[str, int] = {}

    def is_inside() -> bool:
        for folder in command.runs.glob("*/events.jsonl"):
            for line in folder.read_text().splitlines():
                event = json.loads(line)
                if event.get("rank") == 1 and event["event"] == "spawned":
                    found["pid"] = event["pid"]
                if event.get("rank") == 1 and event.get("phase") == "timing" and event["calls"] % 2:
                    return True
        return False

    assert until(is_inside, 60.0)
    return found["pid"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["", "slow:rank=0,ms=20"])
def test_a_slow_link_makes_nobody_late(lab: Lab, start: Start, fault: str) -> None:
    """The second host sends slowly; only a rank that comes late is named, be it on the other one."""
    lab.shape(lab.hosts[1], RATE)
    words = ("--op", "all_reduce,broadcast", "--sizes", "64KiB,256KiB", "-n", "3", "-w", "1")
    first, second = (
        start(host, join(rank, 2, *words), NCCLTOOL_FAULT=fault) for rank, host in enumerate(lab.hosts)
    )
    ended = first.wait(120.0)
    second.wait(30.0)
    late = [one["message"] for one in ended.document["findings"] if one["code"] == "late-rank"]
    assert ended.code == (1 if fault else 0), ended.said
    assert [message.partition(" arrived late in all 4 rows, by ")[0] for message in late] == (
        [f"rank 0 on {lab.hosts[0].name}"] if fault else []
    )
    assert lab.quiet()
