"""SIGTERM comes to those below, and ends nobody on its way."""

import os
import signal
import time
from collections.abc import Callable

import pytest
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing import api as elastic

from nccltool.core import processes
from nccltool.worker.node import sigterm

pytestmark = [pytest.mark.torch, pytest.mark.quick]


def code_of(work: Callable[[], int]) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(processes.forked(work), 0)[1])


def sleeping() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(60)
    return 0


def test_it_is_passed_on_and_the_one_above_goes_on() -> None:
    def above() -> int:
        child = processes.forked(sleeping)
        gone = processes.forked(lambda: 0)
        os.waitpid(gone, 0)
        sigterm.pass_on(lambda: (gone, child))
        os.kill(os.getpid(), signal.SIGTERM)
        return -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert code_of(above) == signal.SIGTERM


def test_an_agent_of_elastic_passes_on_this_signal_and_ends_at_others() -> None:
    def agent() -> int:
        child = processes.forked(sleeping)  # before there is a handler that it would inherit
        sigterm.pass_on_as_an_agent()
        for number in (signal.SIGTERM, signal.SIGHUP):  # as PContext.start does
            signal.signal(number, elastic._terminate_process_handler)
        os.kill(os.getpid(), signal.SIGTERM)
        ended_by = -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        except SignalException:
            return ended_by
        return 77

    assert code_of(agent) == signal.SIGTERM
