"""When a signal ends a run, and what its ranks are told before."""

import signal
import socket
import subprocess
import sys

import pytest

from nccltool.launch import events
from nccltool.launch.instructions import Instruction, Leave
from nccltool.launch.launchers.base import Command, NodeCommands
from nccltool.launch.run_state import RunState
from nccltool.launch.session import Leaving, NodeProcess, Session
from nccltool.train.job import TrainJob, TrainSpec


class Told(Session):
    """Nothing is started; what node processes would be told is kept."""

    def __init__(self, remote: bool) -> None:
        super().__init__(NodeCommands(launcher="a test", why="", commands=(), remote=remote))
        self.told: list[Instruction] = []

    def tell(self, instruction: Instruction) -> None:
        self.told.append(instruction)


def leaving(seconds: float, pid: int | None, host: str = "", session: Session | None = None) -> Leaving:
    train = TrainSpec(strategies=("ddp",), grace_s=seconds)
    job = TrainJob(run_id="20250102T030405Z-beef", nodes=1, nproc_per_node=1, train=train)
    state = RunState(job, 1, now=0.0)
    if pid is not None:
        where = host or socket.gethostname()
        state.apply(events.Spawned(rank=0, node_rank=0, host=where, pid=pid), 1.0)
    return Leaving(job, state, session or Told(remote=False))


@pytest.mark.parametrize(
    ("seconds", "number", "host", "ends"),
    [
        (0.0, signal.SIGTERM, "", True),
        (60.0, signal.SIGINT, "", True),
        (60.0, signal.SIGHUP, "", True),
        (60.0, signal.SIGTERM, "another", True),
        (60.0, signal.SIGTERM, "", False),
        (60.0, None, "", False),
    ],
)
def test_sigterm_alone_leaves_ranks_of_this_host_their_time(
    seconds: float, number: int | None, host: str, ends: bool
) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as rank:
        one = leaving(seconds, rank.pid, host)
        one.signals = [] if number is None else [number]
        assert one.is_up() is ends
        if number == signal.SIGTERM and not ends:
            assert one.is_asked
            assert rank.wait(20) == -signal.SIGTERM
            assert not one.is_up()  # what it has to say is under way
        else:
            assert rank.poll() is None
            rank.kill()


def test_ranks_of_node_processes_elsewhere_are_told_there() -> None:
    session = Told(remote=True)
    one = leaving(60.0, 1 << 22, "another", session)  # no process of this host has such a number
    assert not one.is_up()
    assert (one.is_asked, session.told) == (False, [])
    one.signals = [signal.SIGTERM, signal.SIGTERM]
    assert not one.is_up()
    assert not one.is_up()
    assert (one.is_asked, session.told) == (True, [Leave()])


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_what_a_scheduler_ends_has_its_time_too_and_nobody_asked_here(seconds: float) -> None:
    session = Told(remote=True)
    one = leaving(seconds, 1 << 22, "another", session)
    session.announcer = announcer = NodeProcess(Command(argv=("true",), nodes=(0,)), {}, dies_with_us=True)
    with announcer.process:
        announcer.process.communicate()
    assert not one.is_up()
    assert (one.is_asked, one._end_at is not None, session.told) == (False, bool(seconds), [])


def test_without_ranks_there_is_nothing_to_wait_for() -> None:
    one = leaving(60.0, None)
    one.signals = [signal.SIGTERM]
    assert one.is_up()


def test_a_second_signal_of_another_kind_ends_it_at_once() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(20)
    one = leaving(60.0, gone.pid)  # its process is no more: nothing is raised
    one.signals = [signal.SIGTERM]
    assert not one.is_up()
    one.signals = [signal.SIGTERM, signal.SIGINT]
    assert one.is_up()
