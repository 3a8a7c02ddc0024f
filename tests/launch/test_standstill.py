"""A command that was stopped for a while: nobody else is blamed for it."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from nccltool.core.findings import Subject
from nccltool.launch import finding_kinds, runner, standstill
from nccltool.launch.run_state import RunState
from nccltool.launch.standstill import Standstill
from tests.launch.test_runner import ONE, Play, folder, play

__all__ = ["folder", "play"]
DIED = finding_kinds.RANK_ERROR.finding(
    subject=Subject(kind="rank", name="0"), message="rank 0 on alpha raised TimeoutError"
)
LATE = finding_kinds.DEADLINE.finding(subject=Subject(kind="run", name="deadline"), message="too long")


@pytest.mark.parametrize(
    ("looks", "codes"),
    [
        ([0.2, 2.0, 3.0], ["rank-error", "deadline"]),  # a slow disk
        ([0.2, 14.0], ["deadline", "command-stopped"]),
        ([0.2, 14.0, 16.0, 19.0], ["deadline", "command-stopped"]),
        ([0.2, 14.0, 18.0, 22.0, 26.0], ["rank-error", "deadline"]),  # it went on for a while
    ],
)
def test_who_is_blamed_for_what_follows(looks: list[float], codes: list[str]) -> None:
    still = Standstill(0.0)
    for now in looks:
        still.look(now)
    found = still.excused([DIED, LATE])
    assert [finding.code for finding in found] == codes
    if found[-1].code == "command-stopped":
        assert found[-1].message == "nccltool was stopped for 13.8 s, and its ranks gave up waiting for it"
        assert found[-1].evidence == (DIED.message,)
    assert still.excused([LATE]) == (LATE,)


@pytest.mark.parametrize(("gap", "told"), [(0.2, 0.0), (0.9, 0.0), (4.8, 4.8), (8.0, 8.0)])
def test_what_came_in_a_long_look_is_read_before_anyone_is_called_silent(gap: float, told: float) -> None:
    still = Standstill(0.0)
    assert still.look(gap) == told


def test_calls_of_its_own_are_no_stop() -> None:
    still = Standstill(0.0)
    still.worked(6.0)
    assert still.look(6.2) == 0.0
    assert still.excused([DIED]) == (DIED,)


def stop_once(seconds: float) -> Callable[[RunState], None]:
    """As after Ctrl-Z and fg, once a rank has been heard of."""
    left = [seconds]

    def progress(state: RunState) -> None:
        if state.ranks and left:
            time.sleep(left.pop())

    return progress


def test_what_was_said_meanwhile_is_read_first(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "LONGEST_LOOK_S", 0.5)
    monkeypatch.setattr(standstill, "LONG_LOOK_S", 0.5)
    outcome = play(
        "spawned(0)\ntime.sleep(0.3)\nleave(0)", replace(ONE, timeout_s=0.2, join_timeout_s=0.2), stop_once(1.5)
    )
    assert (outcome.findings, outcome.state.everybody_left) == ((), True)


def test_a_rank_that_gave_up_meanwhile(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "LONGEST_LOOK_S", 0.5)
    monkeypatch.setattr(standstill, "LONG_LOOK_S", 0.5)
    monkeypatch.setattr(runner, "LEAVE_S", 0.2)
    said = """
spawned(0)
time.sleep(0.3)
say("error", rank=0, in_collective=False, text="TimeoutError: the runner did not save the result in time")
say("exit", rank=0, code=1)
"""
    (found,) = play(said, progress=stop_once(1.5)).findings
    assert (found.code, found.subject.kind) == ("command-stopped", "run")
    assert "TimeoutError" in found.evidence[0]
