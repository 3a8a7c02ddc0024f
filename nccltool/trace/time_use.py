"""What the time of a rank's steps was used for, from the spans of its trace."""

from dataclasses import dataclass, field

from nccltool.trace.result import TimeUse
from nccltool.trace.spans import Span, Spans

_PYTHON_S = 1e-4
"""Between two operators or launches, Python takes less than that: 5 to 50 us here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankActivity:
    """When a rank did what."""

    window: Span
    """From the beginning of the first step to the end of the last."""
    has_gpu: bool
    compute: Spans = field(default_factory=Spans)
    """Kernels of the GPU, without communication."""
    communication: Spans = field(default_factory=Spans)
    input: Spans = field(default_factory=Spans)
    cpu: Spans = field(default_factory=Spans)
    """Operators and launches."""
    waits: Spans = field(default_factory=Spans)
    """The CPU waits for the GPU."""


def time_use(of: RankActivity) -> TimeUse:
    """On a GPU, kernels compute; without one, operators do."""
    begin, end = of.window
    if not begin < end:
        return TimeUse(
            window_s=0.0,
            compute_s=None,
            communication_s=None,
            exposed_s=None,
            input_s=None,
            launch_s=None,
            other_s=None,
        )
    window = Spans([of.window])
    computing = of.compute if of.has_gpu else of.cpu - of.input
    compute, communication = computing & window, of.communication & window
    exposed = communication - compute if of.has_gpu else communication - compute - of.input
    idle = window - compute - communication
    waiting = of.input & (idle if of.has_gpu else window - compute)
    left = idle - waiting
    launching = (left & of.cpu.joined(_PYTHON_S)) - of.waits if of.has_gpu else Spans()
    knows_launch = of.has_gpu and bool(of.cpu)
    return TimeUse(
        window_s=end - begin,
        compute_s=compute.total if computing else None,
        communication_s=communication.total if of.communication else None,
        exposed_s=exposed.total if of.communication else None,
        input_s=waiting.total if of.input else None,
        launch_s=launching.total if knows_launch else None,
        other_s=(left - launching).total,
    )
