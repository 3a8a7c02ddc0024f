"""Preflight over nodes that are processes of this host: healthy it passes; of each drill, one check fails."""

import json
import signal
import socket
from typing import Any

import pytest

from tests.support.commands import NCCLTOOL, Command, Ended, until
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

HOST = socket.gethostname()
LIMIT_S = 150.0
PREFLIGHT = (*NCCLTOOL, "preflight", "--nodes", "2", "--skip", "doctor", "--format", "json", "--timeout", "8")
"""Without the doctor: what it finds is a matter of the machine; tests/cli has its drills."""


def document(ended: Ended) -> dict[str, Any]:
    assert ended.stdout, ended.said
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["exit_code"] == ended.code
    return found


def failures(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["code"], one["host"], one["reason"]) for one in found["outcomes"] if one["status"] == "fail"]


@pytest.mark.quick
def test_a_healthy_machine_passes(start: Start) -> None:
    command = start("--platform", "none", argv=PREFLIGHT)
    ended = command.wait(LIMIT_S)
    found = document(ended)
    assert (ended.code, found["status"], failures(found)) == (0, "pass", []), ended.said
    passed = {one["code"] for one in found["outcomes"] if one["status"] == "pass"}
    assert passed >= {"across/completed", "across/data", "across/late", "train/completed", "train/ddp"}
    assert [one["status"] for one in found["hosts"]] == ["pass"]
    assert {row["wrong"] for row in found["measurements"]} == {0}
    assert command.everything_gone(), command.living()


FAULTS = {
    "wrong data": ("corrupt:rank=1,op=all_reduce", 1, "across/data", "rank 1 received"),
    "a slow rank": ("slow:rank=1,ms=60", 1, "across/late", "the others wait for rank 1"),
    "a node that dies": ("kill:rank=1", 3, "across/completed", "was killed by SIGKILL in"),
    "a node that hangs": ("hang:rank=1", 3, "across/completed", "made no progress for 8 s in"),
    "a node that never comes": ("exit:rank=1,at=start", 3, "across/completed", "exited with code 3"),
    "numbers of a training": ("duplicate:rank=1", 1, "train/ddp", "differs from the reference in step 1"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "a node that dies" else [pytest.mark.slow]) for name in FAULTS]
)
def test_a_fault_fails_its_check_and_no_other(name: str, start: Start) -> None:
    drill, code, check, said = FAULTS[name]
    command = start(argv=PREFLIGHT, NCCLTOOL_FAULT=drill)
    ended = command.wait(LIMIT_S)
    found = document(ended)
    ((failed, host, reason),) = failures(found)
    assert (ended.code, failed, host) == (code, check, HOST), ended.said
    assert said in reason
    if check.startswith("across/"):  # what depends on it says why it was not done
        assert [one["reason"] for one in found["outcomes"] if one["rung"] == "train"] == ["across failed"]
    assert [(one["status"], one["exclude"]) for one in found["hosts"]] == [("fail", True)]
    (evidence,) = {one["evidence"] for one in found["outcomes"] if one["status"] == "fail"}
    kept = {file.name for file in (command.folder / "cwd" / evidence).iterdir()}
    assert kept >= {"outcomes.json", "facts-0.json", "log.txt", "run.json", "triage.json"}
    assert command.everything_gone(), command.living()


@pytest.mark.slow
def test_two_ranks_on_each_node_are_measured_within_it_too(start: Start) -> None:
    ended = start("--nproc-per-node", "2", argv=PREFLIGHT).wait(LIMIT_S)
    found = document(ended)
    assert (ended.code, found["status"]) == (0, "pass"), ended.said
    passed = {one["code"] for one in found["outcomes"] if one["status"] == "pass"}
    assert passed >= {"within/completed", "within/data", "within/late"}


def measuring(command: Command) -> bool:
    """The ranks of its run over all nodes are at work."""
    files = list(command.runs.glob("*/runs/across/*/events.jsonl"))
    return bool(files) and '"event":"enter"' in files[0].read_text()


@pytest.mark.slow
def test_interrupted_it_shows_what_it_has(start: Start) -> None:
    command = start(argv=PREFLIGHT, NCCLTOOL_FAULT="slow:rank=1,ms=400")
    assert until(lambda: measuring(command), 60.0)
    command.send(signal.SIGTERM)
    ended = command.wait(LIMIT_S)
    found = document(ended)
    assert (ended.code, found["status"]) == (130, "incomplete"), ended.said
    assert {one["reason"] for one in found["outcomes"] if one["rung"] == "train"} == {"interrupted"}
    assert command.everything_gone(), command.living()


@pytest.mark.slow
def test_killed_it_takes_its_runs_along(start: Start) -> None:
    command = start(argv=PREFLIGHT, NCCLTOOL_FAULT="slow:rank=1,ms=400")
    assert until(lambda: measuring(command), 60.0)
    command.send(signal.SIGKILL)
    assert command.everything_gone(), command.living()


@pytest.mark.slow
def test_the_budget_ends_a_rung_that_takes_longer(start: Start) -> None:
    ended = start("--budget", "12s", argv=PREFLIGHT, NCCLTOOL_FAULT="slow:rank=1,ms=900").wait(LIMIT_S)
    found = document(ended)
    assert ended.code == 3, ended.said
    ((failed, _, reason),) = failures(found)
    assert (failed, "took longer than" in reason) == ("across/completed", True)
