"""Looking again and again at a process that has a rank's variables."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nccltool.attach.look.order import LookOrder
from nccltool.attach.look.resident import ResidentLook


@pytest.fixture
def rank() -> "Iterator[subprocess.Popen[bytes]]":
    more = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    argv = [sys.executable, "-c", "print(1, flush=True); import time; time.sleep(100)"]
    with subprocess.Popen(argv, env={**os.environ, **more}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_pulse_has_one_sample_and_only_the_first_has_stacks(rank: "subprocess.Popen[bytes]") -> None:
    resident = ResidentLook()
    order = LookOrder(pid=rank.pid, is_pulse=True)
    first, second = resident.answer(order).look, resident.answer(order).look
    for look, stacks in ((first, 1), (second, 0)):
        assert look is not None
        assert [one.pid for one in look.ranks] == [rank.pid]
        ((sample,), (of_rank,)) = look.samples, look.samples[0].ranks
        assert sample.ranks == (of_rank,)
        assert (len(of_rank.stacks), of_rank.process is None) == (stacks, False)
        assert look.own_cpu_s > 0


def test_a_rank_that_is_gone_is_looked_for_again(rank: "subprocess.Popen[bytes]") -> None:
    resident = ResidentLook()
    order = LookOrder(pid=rank.pid, is_pulse=True)
    assert resident.answer(order).look is not None
    rank.kill()
    rank.wait()
    answer = resident.answer(order)
    assert (answer.look, answer.reason) == (None, f"no process has pid {rank.pid}")
