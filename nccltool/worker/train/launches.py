"""How long a GPU takes for a step, and how long it takes if nothing of it must be launched meanwhile.

The stream is held until the whole step is queued, so the GPU never waits for its host; the rest of the time that
the step takes otherwise, it does. A stream takes some 1,000 launches before the host must wait: of a longer step,
a part is launched while it runs, and the GPU waits longer than is told.
"""

from collections.abc import Callable
from statistics import median_low

from torch import Tensor

from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import CudaStream, QueueClock
from nccltool.worker.train.strategies.base import Setup

_STEPS = 3
"""Of each kind: the median is not that of a disturbed one. Of those that are queued ahead the shortest counts: a
host that was disturbed for longer than the stream was held only adds to it."""


def waited_ns(setup: Setup, step: Callable[[Tensor], None]) -> int | None:
    """How long the slowest GPU waits for launches in a step without communication; None = there are no GPUs."""
    if setup.device.type != "cuda":
        return None
    tokens, clock = setup.tokens(1), QueueClock(CudaStream(_nobody), setup.slot)
    setup.slot.phase("timing")
    return between(clock, lambda: step(tokens), setup.group.maximum)


def between(clock: QueueClock, step: Callable[[], None], maximum: Callable[[list[int]], list[int]]) -> int:
    """`maximum`: of all ranks."""
    launched = clock.durations(step, _STEPS, _nobody)
    queued = clock.durations(
        step, _STEPS, _nobody, clocks.hold_ns(launched.launch_ns, 0, 1, clocks.MOST_QUEUED_NS)
    )
    as_it_is, as_it_could_be = maximum([median_low(launched.ns), min(queued.ns)])
    return max(0, as_it_is - as_it_could_be)


def _nobody() -> None:
    """Ranks need not meet: they do not communicate."""
