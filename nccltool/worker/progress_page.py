"""A page of shared memory on which each rank notes how far it is.

Its supervisor reads the note from outside, also when the rank is stopped, stuck in a call or dead. Writing
a word costs some tens of nanoseconds, so the rank can do it at every iteration.
"""

import mmap
from collections.abc import Callable
from typing import TypeVar

from nccltool.launch.run_state import LOOKING_AT_GPU, WAITING_FOR_GROUPS

Result = TypeVar("Result")

PHASES = (
    *("starting", LOOKING_AT_GPU, "joining", "connecting", "warm-up", "timing", "checking"),
    *("waiting for the result to be saved", "leaving", "between steps", "trying the plug-in"),
    *("building", "preparing"),
    *("forward", "between forward and backward", "backward", "forward and backward", "updating", "comparing"),
    *("computing a micro-batch", "unscaling", "clipping", "averaging", "agreeing", "profiling"),
    *(WAITING_FOR_GROUPS, "keeping busy", "timing destinations"),
    *("looking for checkpoints", "loading a checkpoint", "catching up", "saving a checkpoint"),
    *("looking for input", "loading input"),
)

PHASE, STEP, CALLS, _IN_PHASE_MS, _INSIDE_MS = range(5)
_WORDS = 8


class ProgressPage:
    """The note of one rank: phase, step, and a count of communication calls.

    The count goes up when a call is entered and again when it returns, so it is odd inside a call: that is
    what tells a rank that waits for others from the one that they wait for.

    Beside it, for how long nothing may move here beyond --timeout (nccltool.launch.allowances).
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)  # MAP_SHARED: seen on both sides of a fork
        self.words = memoryview(self._memory).cast("q")[:_WORDS]
        self.words[STEP] = -1

    def phase(self, name: str, step: int | None = None, allowance_s: float = 0.0) -> None:
        """Note the beginning of a phase, and of a step; the allowance ends with the phase."""
        self.words[_IN_PHASE_MS] = _ms(allowance_s)
        self.words[CALLS] = 0
        self.words[PHASE] = PHASES.index(name)
        if step is not None:
            self.words[STEP] = step

    def allow(self, inside_s: float) -> None:
        """How long a call may take from now on without a sign."""
        self.words[_INSIDE_MS] = _ms(inside_s)

    def watched(self, call: Callable[[], Result]) -> Callable[[], Result]:
        """`call`, noted when it is entered and when it returns."""
        words = self.words

        def noted() -> Result:
            words[CALLS] += 1
            result = call()
            words[CALLS] += 1
            return result

        return noted

    def tick(self) -> None:
        self.words[CALLS] += 2

    def read(self) -> tuple[str, int, int]:
        """Phase, step, count of calls."""
        phase, step, calls = self.words[:3]
        return PHASES[phase], step, calls

    def allowance_s(self) -> float:
        """How long nothing may move here, beyond --timeout."""
        inside_ms = self.words[_INSIDE_MS] if self.words[CALLS] % 2 else 0
        return (self.words[_IN_PHASE_MS] + inside_ms) / 1000


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
