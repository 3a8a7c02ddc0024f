"""A measurement, as it crosses to the workers."""

from dataclasses import dataclass, field
from typing import Literal

from nccltool.launch.job import Job
from nccltool.probe.result import Cadence
from nccltool.probe.split import Split
from nccltool.probe.state import ProbeState


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The sizes of a sweep, in bytes: an explicit list, or first to last by a factor or a step."""

    listed: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    factor: int | None = None
    step: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeJob(Job):
    """What to measure, and where."""

    kind: str = "probe"
    ops: tuple[str, ...]
    sizes: Sizes = field(default_factory=Sizes)
    dtype: str = "float32"
    reduce_op: str = "sum"
    iterations: int | None = None
    """Timed iterations; None = until precise enough."""
    warmup: int | None = None
    """Iterations before them; None = until times settle."""
    precision: float = 0.02
    """Relative half-width of the 95 % interval of the median at which a row is precise enough."""
    budget_s: float = 0.2
    """Time that one row may take to get there."""
    checks: int = 1
    cadence: Cadence = "stream"
    placement: Literal["natural", "in-place", "out-of-place", "both"] = "natural"
    """Which forms of an operation to run; natural = the one that torch users call."""
    cuda_graph: bool = False
    split: Split | None = None
    """Divide the ranks into groups that run at the same time; None = all ranks run together."""

    def new_state(self) -> ProbeState:
        return ProbeState()
