"""How a process ended, out of the parts of a line."""

import pytest

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.timeline.exits import exit_of


@pytest.mark.parametrize(
    ("fields", "code", "signal"),
    [
        ({"code": "1"}, 1, None),
        ({"code": "-9"}, -9, 9),
        ({"code": "137"}, 137, 9),
        ({"code": "-9", "signal": "SIGKILL"}, -9, 9),
        ({"signal": "SIGSEGV"}, None, 11),
        ({"signal": "SIGABRT", "number": "6"}, None, 6),
        ({"signal": "9"}, None, 9),
        ({"how": "Exited with exit code 1"}, 1, None),
        ({"how": "Exited with exit code 137"}, 137, 9),
        ({"how": "Segmentation fault (core dumped)"}, None, 11),
        ({"how": "Out Of Memory"}, None, 9),
        ({"code": "3221225477"}, None, None),
        ({}, None, None),
    ],
)
def test_the_code_and_the_signal(fields: dict[str, str], code: int | None, signal: int | None) -> None:
    ended = exit_of(LogEvent(kind="job.exit", role="echo", text="", file="f", line=1, fields=fields))
    assert (ended.code, ended.signal) == (code, signal)


@pytest.mark.parametrize(("tasks", "rank"), [("3", 3), ("0-7", None), ("", None)])
def test_a_task_is_a_rank_when_it_is_one(tasks: str, rank: int | None) -> None:
    event = LogEvent(kind="job.exit", role="echo", text="", file="f", line=1, fields={"tasks": tasks})
    assert exit_of(event).rank == rank
