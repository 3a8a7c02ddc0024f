"""Fault injection inside a rank: it misbehaves where NCCLTOOL_FAULT says (nccltool.launch.fault_injection)."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from nccltool.launch.fault_injection import NUMERICAL, Fault

_NTH_ITERATION = 2
"""Timed iterations before the fault: even the largest sizes get this far."""


class InjectedFault(Exception):
    """The exception of a fault that raises one; its name is printed."""


class FaultInjector:
    """Misbehaves where the fault says; does nothing without one."""

    def __init__(self, fault: Fault | None, rank: int, attempt: int = 0) -> None:
        """`attempt`: how often all ranks have been started anew."""
        due = fault is not None and fault.attempt in (None, attempt)
        self._fault, self.rank = fault if due else None, rank

    def at(self, place: str, op: str = "", size: int = 0, step: int = 0) -> None:
        """Reach a place."""
        fault = self._due(place, op, size, step)
        if fault is not None and fault.action not in NUMERICAL:
            self._act(fault)

    def _due(self, place: str, op: str, size: int, step: int = 0) -> Fault | None:
        fault = self._fault
        return fault if fault is not None and fault.hits(self.rank, place, op, size, step) else None

    def numerical(self, op: str) -> Fault | None:
        """The fault that makes a training compute something else, when it is due in this one."""
        fault = self._fault
        return fault if fault is not None and fault.action in NUMERICAL and fault.op in (None, op) else None

    def disturbed(self, call: Callable[[], None], op: str, size: int) -> Callable[[], None]:
        """`call`, with the fault before one of its iterations (before each, for slow) when it is due here."""
        fault = self._due("timing", op, size)
        if fault is None:
            return call
        count = 0

        def disturbed() -> None:
            nonlocal count
            if fault.action == "slow" or count == _NTH_ITERATION:
                self._act(fault)
            count += 1
            call()

        return disturbed

    def pause(self, op: str, size: int) -> Callable[[], None] | None:
        """What a slow rank does before it comes, or None."""
        fault = self._due("timing", op, size)
        return partial(self._act, fault) if fault is not None and fault.action == "slow" else None

    def corrupted(self, call: Callable[[], None], buffer: Tensor, op: str, size: int) -> Callable[[], None]:
        """`call`, after which one element in the middle of the buffer that it fills is another one."""
        fault = self._due("check", op, size)
        if fault is None or fault.action != "corrupt":
            return call

        def corrupted() -> None:
            call()
            if len(buffer):
                # not += 1: 257 is 256 in bfloat16, and an average may be off by two units in the last place
                buffer[len(buffer) // 2] = 0 if buffer[len(buffer) // 2] else 1

        return corrupted

    def _act(self, fault: Fault) -> None:
        if fault.action in ("kill", "stop"):
            os.kill(os.getpid(), signal.SIGKILL if fault.action == "kill" else signal.SIGSTOP)
        elif fault.action == "hang":
            while True:
                time.sleep(3600)
        elif fault.action == "raise":
            raise InjectedFault(f"injected fault: NCCLTOOL_FAULT told rank {self.rank} to raise")
        elif fault.action == "oom":
            self._fault = None  # smaller parts fit
            raise torch.OutOfMemoryError("injected fault: out of memory")
        elif fault.action == "exit":
            os._exit(3)
        else:
            time.sleep(fault.ms / 1000)
