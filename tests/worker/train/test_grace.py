"""SIGTERM is noted, agreed on, and answered in time."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from nccltool.launch import events
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train.grace import EndedBySignal, Grace
from nccltool.worker.train.strategies.base import Setup
from tests.support.commands import until
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [pytest.mark.torch, pytest.mark.quick]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def told(setup: Setup, act: Callable[[Setup], None]) -> tuple[int, list[events.Event]]:
    """(how a process ended that did this, what it told); it has no threads that communicate."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        tools = RankTools(CPU, ProgressPage(), Channel(writing, None), FaultInjector(None, 0))
        try:
            act(Setup("ddp", SPEC, tools))
            os._exit(77)
        finally:
            os._exit(78)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        found = [events.decode(line) for line in said]
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), [event for event in found if event is not None]


def signalled() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_ranks_that_agree_save_and_leave(setup: Setup) -> None:
    reading, writing = os.pipe()
    there = Setup("ddp", SPEC, RankTools(CPU, ProgressPage(), Channel(writing, None), FaultInjector(None, 0)))
    with pytest.raises(EndedBySignal), Grace(there, 60.0) as grace:
        assert not grace.is_over()
        signalled()
        assert until(grace.is_over, 20)
        grace.leave(3)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        (event,) = [events.decode(line) for line in said]
    assert isinstance(event, events.Reported)
    assert event.finding.code == "emergency-checkpoint"
    assert event.finding.message.startswith("ddp was ended by SIGTERM: all ranks saved step 3, ")
    assert event.finding.message.endswith(" s after the signal (--grace 60)")


def test_a_signal_that_is_repeated_does_not_end_a_rank_that_leaves(setup: Setup) -> None:
    def act(there: Setup) -> None:
        with pytest.raises(EndedBySignal), Grace(there, 60.0) as grace:
            grace._agreed = True
            raise EndedBySignal
        signalled()

    assert told(setup, act) == (77, [])


def test_a_rank_that_is_not_ready_in_time_says_where_it_is(setup: Setup) -> None:
    def act(there: Setup) -> None:
        there.label = "step 4 of ddp"
        there.slot.phase("saving a checkpoint")
        with Grace(there, 0.2):
            signalled()
            time.sleep(60)

    code, said = told(setup, act)
    assert code == 0
    assert [type(event) for event in said] == [events.Reported, events.Bye]
    assert isinstance(said[0], events.Reported)
    assert said[0].finding.message == (
        "ddp: 0.2 s after SIGTERM (--grace), rank 0 had not saved a checkpoint; it was in step 4 of ddp "
        "(saving a checkpoint)"
    )


def test_a_signal_after_the_last_agreement_ends_the_rank(setup: Setup) -> None:
    def act(there: Setup) -> None:
        with Grace(there, 60.0) as grace:
            signalled()
            assert until(lambda: grace._asked_at is not None, 20)

    assert told(setup, act) == (-signal.SIGTERM, [])


def test_afterwards_and_without_time_the_signal_is_what_it_was(setup: Setup) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Grace(setup, 0.0) as grace:
        assert signal.getsignal(signal.SIGTERM) is before
        assert not grace.is_over()
    with Grace(setup, 60.0):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
