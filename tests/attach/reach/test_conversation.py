"""Hosts that are asked again and again."""

import sys

import pytest

from nccltool.attach.look.order import LookOrder
from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.reach.conversation import Conversation
from nccltool.attach.reach.far_end import MODULE

_ECHO = """\
import json, os, sys
for line in sys.stdin:
    order = json.loads(line)
    print("banner")
    text = json.dumps({"host": str(os.getpid()), "reason": order.get("program", "")})
    print("\\x1e00000000." + text, flush=True)
"""


def _command(program: str, hosts: int = 1) -> FarCommand:
    return FarCommand(argv=(sys.executable, "-c", program), name="n1", hosts=hosts, remedy="r")


def test_one_process_answers_all_orders() -> None:
    talk = Conversation([_command(_ECHO), _command(_ECHO)])
    try:
        first, second = (talk.ask(LookOrder(program=name), 60) for name in ("a", "b"))
    finally:
        talk.end()
    assert [one.reason for one in (*first[0], *second[0])] == ["a", "a", "b", "b"]
    assert len({one.host for one in (*first[0], *second[0])}) == 2
    assert (first[1], second[1]) == ((), ())


@pytest.mark.parametrize(
    ("program", "hosts", "reason"),
    [
        ("import sys; sys.exit(255)", 1, "exit code 255"),
        ("import time; time.sleep(60)", 1, "no answer in time"),
        ("print('\\x1e00000000.{', flush=True); import time; time.sleep(60)", 1, "its answer is damaged"),
        (_ECHO, 2, "no answer in time"),
    ],
)
def test_no_answer(program: str, hosts: int, reason: str) -> None:
    talk = Conversation([_command(program, hosts)])
    try:
        _, unread = talk.ask(LookOrder(), 3)
    finally:
        talk.end()
    ((one),) = unread
    assert one.reason.startswith(reason)
    assert (one.host, one.missing) == ("n1", "r")


def test_a_command_that_ended_is_started_again() -> None:
    once = _ECHO.replace("for line in sys.stdin:", "for line in [sys.stdin.readline()]:")
    talk = Conversation([_command(once)])
    try:
        found = [talk.ask(LookOrder(program=str(number)), 60)[0] for number in range(4)]
    finally:
        talk.end()
    answered = [one.reason for answers in found for one in answers]
    assert answered[0] == "0"
    assert len(answered) >= 2


def test_a_command_that_cannot_be_started() -> None:
    talk = Conversation([FarCommand(argv=("/no/such/ssh",), name="n1")])
    assert [one.reason for one in talk.ask(LookOrder(), 3)[1]] == ["/no/such/ssh: No such file or directory"]


def test_the_far_end_answers_several_orders() -> None:
    talk = Conversation([FarCommand(argv=(sys.executable, *MODULE), name="here")])
    try:
        found = [talk.ask(LookOrder(job=name, is_pulse=True), 60)[0] for name in ("a", "b")]
    finally:
        talk.end()
    assert [one.reason for answers in found for one in answers] == [
        "no rank of job 'a' runs here",
        "no rank of job 'b' runs here",
    ]
