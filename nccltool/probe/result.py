"""What was measured. Frozen."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.core.statistics import Stats
from nccltool.core.verdicts import Verdict
from nccltool.probe.late_rank import RankLateness
from nccltool.probe.split import SplitGroup
from nccltool.probe.traffic import UnevenTraffic

Placement = Literal["in-place", "out-of-place"]

Cadence = Literal["stream", "isolated"]

Launched = Literal["blocking", "queued", "graph"]
"""blocking: a call returns when its work is done. queued: calls were queued while the device was held, and ran at
its own rate. graph: replays of a CUDA graph, queued in the same way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowGroup:
    """The group of ranks that a measurement is of, in a run that was split into groups."""

    name: str
    world_size: int
    alone: bool = False
    """The other groups were idle; else all ran at the same time."""

    @property
    def text(self) -> str:
        """`node 1`, or `node 1 alone`."""
        return f"{self.name} alone" if self.alone else self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One operation at one size, over all ranks or those of a group."""

    op: str
    bytes: int
    """Size as nccl-tests defines it for this operation."""
    bytes_per_rank: int
    count: int
    """Elements in nccl-tests' count column."""
    dtype: str
    reduce_op: str | None
    placement: Placement
    cadence: Cadence
    iterations: int | None
    time_s: Stats
    algbw_bytes_per_s: float
    busbw_bytes_per_s: float
    wrong: int | None
    """Wrong elements across all ranks and checks; None when not checked."""
    noisy: bool = False
    """The budget ended before the interval was as narrow as asked for."""
    late_rank: int | None = None
    """The rank that the others waited for; None = no rank stood out."""
    late_s: float | None = None
    late_ranks: tuple[RankLateness, ...] | None = None
    """All of these, the latest first; None = not measured, or by an older release."""
    launched: Launched | None = None
    """How the calls came to the device; None = an older release or another tool measured."""
    launch_limited: bool = False
    """A device waited for its host, and it can be seen: the time is that of launching in Python, not of the
    fabric."""
    limit_busbw_bytes_per_s: float | None = None
    """The most that the wires allow (nccltool.probe.transport); None = not known."""
    limit_may_be_exceeded: bool = False
    """A switch that reduces (NVLS, SHARP) can save bytes that the limit counts."""
    group: RowGroup | None = None
    """None = all ranks of the run."""
    traffic: UnevenTraffic | None = None
    """Of an operation under a skew."""

    @property
    def busbw_interval(self) -> tuple[float, float]:
        """What the bus bandwidth could be, B/s."""
        fast, slow = self.time_s.seconds_between
        work = self.busbw_bytes_per_s * self.time_s.seconds
        return work / slow, work / fast


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyModel:
    """t = alpha + bytes / beta for one operation (nccltool.probe.latency_model)."""

    op: str
    placement: Placement
    alpha_s: float
    beta_bytes_per_s: float
    n_half_bytes: float
    """The size at which half of beta is reached."""
    residual: float
    """Median relative deviation of the measured times."""
    group: RowGroup | None = None
    """None = of all ranks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """All of a run: the only input of views and exporters."""

    info: RunInfo
    verdict: Verdict
    measurements: tuple[Measurement, ...]
    findings: tuple[Finding, ...]
    models: tuple[LatencyModel, ...] = ()
    groups: tuple[SplitGroup, ...] = ()
    """Into which the ranks were divided; empty = they were not."""
    kind: str = "probe"
    """The command that made it."""
