"""How long a GPU takes for a step, compared with a step whose launches are all queued before it starts.

The stream is held until the whole step is queued, so the GPU never waits for its host. Any further time that an
ordinary step takes is time that the GPU waits. A stream holds about 1,000 launches before the host must wait. Part
of a longer step is launched while it runs, so the GPU waits longer than reported.
"""

from collections.abc import Callable
from statistics import median_low

from torch import Tensor

from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import CudaStream, QueueClock
from nccltool.worker.train.strategies.base import Setup

_STEPS = 3
"""Of each kind, so that one disturbed step does not change the median. Of queued steps, the shortest counts: a
disturbance of the host that outlasts the hold only adds time."""


def waited_ns(setup: Setup, step: Callable[[Tensor], None]) -> int | None:
    """How long the slowest GPU waits for launches in a step without communication; None = no GPUs."""
    if setup.device.type != "cuda":
        return None
    tokens, clock = setup.tokens(1), QueueClock(CudaStream(_nobody), setup.slot)
    setup.slot.phase("timing")
    return between(clock, lambda: step(tokens), setup.group.maximum)


def between(clock: QueueClock, step: Callable[[], None], maximum: Callable[[list[int]], list[int]]) -> int:
    """`maximum` takes the maximum over all ranks."""
    launched = clock.durations(step, _STEPS, _nobody)
    queued = clock.durations(
        step, _STEPS, _nobody, clocks.hold_ns(launched.launch_ns, 0, 1, clocks.MOST_QUEUED_NS)
    )
    as_it_is, as_it_could_be = maximum([median_low(launched.ns), min(queued.ns)])
    return max(0, as_it_is - as_it_could_be)


def _nobody() -> None:
    """Ranks do not communicate, so they need not synchronize."""
