"""SIGTERM, where ranks have time to leave after it: what started them passes it on, and ends when they have ended.

Slurm sends it to every process of a step, others to one of them, and the runner has the watchdog send it.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Collection
from types import FrameType

from torch.distributed.elastic.multiprocessing import api as elastic

from nccltool.core import processes


def pass_on(pids: Callable[[], Collection[int]]) -> None:
    """From now on, to those of our children that lead to ranks."""
    signal.signal(signal.SIGTERM, lambda *_: _tell(pids()))


def pass_on_as_an_agent() -> None:
    """The same in an agent of torch elastic, which would end its ranks within two seconds. When it starts them, it
    takes SIGTERM with a handler that we put ours before; its supervisors are all children that it has."""
    its_own = elastic._terminate_process_handler

    def handle(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            _tell(processes.children())
        else:
            its_own(number, frame)

    elastic._terminate_process_handler = handle


def _tell(pids: Collection[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
