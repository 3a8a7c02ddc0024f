"""The time between SIGTERM and the end that follows it: ranks agree on a step, save it, and leave.

A thread takes the signal's note from a pipe, because Python's own handler runs only when a rank is back from a
call of a library. It also ends the rank when the time is over: others may wait for it in vain, or it for them.
"""

import os
import select
import signal
import threading
import time
from types import TracebackType
from typing import Self

from nccltool.core import processes
from nccltool.core.findings import Subject
from nccltool.launch import events
from nccltool.train.finding_kinds import EMERGENCY_CHECKPOINT, GRACE_TOO_SHORT
from nccltool.worker.train.strategies.base import Setup


class EndedBySignal(Exception):
    """A checkpoint was saved because of SIGTERM; all ranks know."""


class Grace:
    """While it is entered, SIGTERM is noted; without any time to spare it does nothing."""

    def __init__(self, setup: Setup, seconds: float) -> None:
        self._setup, self._seconds = setup, seconds
        self._asked_at: float | None = None
        self._agreed = False

    def __enter__(self) -> Self:
        if self._seconds:
            reading, self._writing = os.pipe()
            os.set_blocking(self._writing, False)
            self._before = signal.signal(signal.SIGTERM, lambda *_: None)
            self._fd_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=(reading,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._seconds:
            return
        signal.set_wakeup_fd(self._fd_before)
        # schedulers repeat theirs, and this rank is already leaving
        signal.signal(signal.SIGTERM, signal.SIG_IGN if self._agreed else self._before)
        os.close(self._writing)
        if self._asked_at is not None and not self._agreed:  # no step is left in which ranks could agree
            os.kill(os.getpid(), signal.SIGTERM)

    def is_over(self) -> bool:
        """Whether SIGTERM has come to any rank. All ranks ask together, after a step."""
        if self._seconds:
            with self._setup.communicating("agreeing"):
                self._agreed = self._setup.group.maximum([self._asked_at is not None])[0] > 0
        return self._agreed

    def leave(self, number: int) -> None:
        """Say what was saved, and how long after the first signal. Raises EndedBySignal on all ranks."""
        setup, now = self._setup, time.monotonic()
        since = 0 if self._asked_at is None else round((now - self._asked_at) * 1000)
        took_s = setup.group.maximum([since])[0] / 1000
        if setup.rank == 0:
            setup.channel.report(
                EMERGENCY_CHECKPOINT.finding(
                    subject=Subject(kind="run", name=setup.name),
                    message=f"{setup.name} was ended by SIGTERM: all ranks saved step {number}, {took_s:.2f} s "
                    f"after the signal (--grace {self._seconds:g})",
                    remedy=f"run the command again to resume after step {number}",
                )
            )
        raise EndedBySignal

    def _watch(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as notes:
            while (note := notes.read(1)) and note[0] != signal.SIGTERM:
                pass
            if not note:
                return
            self._asked_at = begin = time.monotonic()
            while (left := begin + self._seconds - time.monotonic()) > 0:
                if select.select([notes], [], [], left)[0] and not notes.read(1):
                    return
        self._end()

    def _end(self) -> None:
        setup = self._setup
        setup.channel.report(
            GRACE_TOO_SHORT.finding(
                subject=Subject(kind="rank", name=str(setup.rank)),
                message=f"{setup.name}: {self._seconds:g} s after SIGTERM (--grace), rank {setup.rank} had not "
                f"saved a checkpoint; it was in {setup.label} ({setup.slot.read()[0]})",
                remedy="the next run resumes from the newest complete checkpoint: raise --grace, up to what the "
                "scheduler leaves, or lower --checkpoint-every",
            )
        )
        setup.channel.emit(events.Bye(rank=setup.rank, peak_rss_bytes=processes.peak_rss_bytes()))
        os._exit(0)
