"""How long a GPU takes for a step, compared with a step whose launches are all queued before it starts.

The stream is held until the whole step is queued, so the GPU never waits for its host. Any further time that an
ordinary step takes is time that the GPU waits. A stream holds about 1,000 launches before the host must wait. Part
of a longer step is launched while it runs, so the GPU waits longer than reported.

A collective starts once the slowest host has launched it. So the whole step is compared as well: by how much more
it waits than its part without communication, its communication starts later than the network requires.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from nccltool.worker.probe import clocks
from nccltool.worker.probe.clocks import CudaStream, QueueClock
from nccltool.worker.train.strategies.base import Setup

_STEPS = 3
"""Of each kind; the shortest counts. A host that is disturbed now and then only adds time, and does not make a job
launch-bound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchWaits:
    """How long per step the slowest GPU waits for launches."""

    alone_ns: int
    """In a step without communication."""
    whole_ns: int

    @property
    def late_calls_ns(self) -> int:
        """By how much communication is launched late."""
        return max(0, self.whole_ns - self.alone_ns)


def waits(setup: Setup, whole: Callable[[Tensor], None], alone: Callable[[Tensor], None]) -> LaunchWaits | None:
    """None = no GPUs. `alone`: the step without communication."""
    if setup.device.type != "cuda":
        return None
    tokens, group = setup.tokens(1), setup.group

    def waited(step: Callable[[Tensor], None], meet: Callable[[], None], queue_meeting: Callable[[], None]) -> int:
        def timed() -> None:
            setup.slot.phase("timing")
            step(tokens)

        return between(QueueClock(CudaStream(queue_meeting), setup.slot), timed, group.maximum, meet)

    return LaunchWaits(
        alone_ns=waited(alone, _nobody, _nobody), whole_ns=waited(whole, group.meet, group.queue_meeting)
    )


def between(
    clock: QueueClock,
    step: Callable[[], None],
    maximum: Callable[[list[int]], list[int]],
    meet: Callable[[], None],
) -> int:
    """`maximum` takes the maximum over all ranks. A GPU waits no longer for a host than that needs to launch: the
    rest is the network's, whose speed varies from step to step."""
    launched = clock.durations(step, _STEPS, meet)
    queued = clock.durations(step, _STEPS, meet, clocks.hold_ns(launched.launch_ns, 0, 1, clocks.MOST_QUEUED_NS))
    as_it_is, as_it_could_be, launching = maximum([min(launched.ns), min(queued.ns), queued.launch_ns])
    return min(max(0, as_it_is - as_it_could_be), launching)


def _nobody() -> None:
    """Ranks do not communicate, so they need not synchronize."""
