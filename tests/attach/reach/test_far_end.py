"""The end on another host."""

import subprocess
import sys

import msgspec

from nccltool.attach.look.order import LookOrder
from nccltool.attach.reach.answers import AnswerReader
from nccltool.attach.reach.far_end import MODULE


def test_it_answers_each_order() -> None:
    orders = b"".join(msgspec.json.encode(LookOrder(pid=pid)) + b"\n" for pid in (2**22 + 1, 2**22 + 2))
    done = subprocess.run([sys.executable, *MODULE], input=orders, capture_output=True, timeout=60, check=True)
    reader = AnswerReader()
    found = [one for line in done.stdout.splitlines() if (one := reader.answer_of(line))]
    assert [one.reason for one in found] == [f"no process has pid {2**22 + number}" for number in (1, 2)]
