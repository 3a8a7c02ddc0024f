"""Commands that look at other hosts, and what can go wrong with each."""

import sys
from dataclasses import replace

import pytest

from nccltool.attach.look.order import LookAnswer, LookOrder
from nccltool.attach.reach import asking
from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.reach.far_end import MODULE

_GOOD = (
    'import sys; sys.stdin.read(); print(\'banner\'); print(\'\\x1e00000000.{"host": "n1", "reason": "none"}\')'
)
_PROXY = """
import subprocess, time
subprocess.Popen(["sleep", "20"], start_new_session={apart})
time.sleep(20)
"""
"""It leaves a process that has its pipes."""


def _command(program: str, hosts: int = 1) -> FarCommand:
    return FarCommand(argv=(sys.executable, "-c", program), name="n1", hosts=hosts, remedy="r")


@pytest.mark.parametrize(
    ("command", "answers", "reason"),
    [
        (_command(_GOOD), 1, ""),
        (_command(_GOOD, 2), 1, "1 of 2 hosts did not answer: exit code 0"),
        (_command("import sys; sys.exit('no route')"), 0, "no route (exit code 1)"),
        (_command("print('\\x1e00000000.{')"), 0, "its answer is damaged: Input data was truncated"),
        (_command("import time; time.sleep(60)"), 0, "no answer within 1 s"),
        (_command(_PROXY.format(apart=False)), 0, "no answer within 1 s"),
        (_command(_PROXY.format(apart=True)), 0, "no answer within 1 s"),
        (
            FarCommand(argv=("/no/such/ssh",), name="n1"),
            0,
            "/no/such/ssh cannot be started: No such file or directory",
        ),
    ],
)
def test_answers(command: FarCommand, answers: int, reason: str) -> None:
    found, unreached = asking.ask([command], LookOrder(), timeout_s=1)
    assert found == (LookAnswer(host="n1", reason="none"),) * answers
    assert [one.reason for one in unreached] == ([reason] if reason else [])


@pytest.mark.parametrize("program", [_GOOD, "import sys; sys.exit('no Python there')"])
def test_a_pod_without_ranks_is_not_missed(program: str) -> None:
    launcher = replace(_command(program), is_optional=True)
    assert asking.ask([launcher], LookOrder(), timeout_s=20) == ((), ())


def test_the_far_end_answers_an_order() -> None:
    """This process is no rank: the far end says so, and names what it saw."""
    command = FarCommand(argv=(sys.executable, *MODULE), name="here")
    (answer,), unreached = asking.ask([command], LookOrder(job="no such job"), timeout_s=60)
    assert (answer.look, answer.reason, unreached) == (None, "no rank of job 'no such job' runs here", ())
