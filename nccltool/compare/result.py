"""What a comparison is made of, and what comes of it: samples, effects, baselines. Frozen."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core.documents import RunInfo
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.verdicts import Verdict
from nccltool.probe.result import Cadence, Placement

Comparable = Literal["worse", "better", "same", "cannot-tell"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What must not differ between runs whose numbers are compared. None = not known."""

    transport: str | None = None
    nics: str | None = None
    gpu: str | None = None
    nodes: int | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None
    backend: str | None = None
    backend_version: str | None = None
    torch: str | None = None
    tool: str | None = None
    """What measured, and its version."""
    cuda_graph: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RowKey:
    """What a measurement is of."""

    op: str
    bytes: int
    dtype: str
    reduce_op: str | None
    placement: Placement
    cadence: Cadence
    of_group: str | None = None
    """The group of ranks, how many these are, and whether the others were idle; None = all ranks of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowSample:
    """One measurement of one run, as far as comparisons need it."""

    key: RowKey
    median_s: float | None
    """None = the source keeps no single iterations."""
    mean_s: float
    spread: float | None
    """Relative standard deviation of single iterations, from the mean upwards; None = not known, or too few."""
    iterations: int | None
    busbw_bytes_per_s: float
    """Of its time."""

    @property
    def seconds(self) -> float:
        """The one number (nccltool.core.statistics.Stats.seconds); other statistics say how it may vary."""
        return self.mean_s


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSample:
    """One run, as far as comparisons need it."""

    id: str
    started: str
    hosts: tuple[str, ...]
    circumstances: Circumstances
    rows: tuple[RowSample, ...]
    left_out: tuple[str, ...] = ()
    """Measurements that are no use for comparisons, and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """Runs under a name that others are held against."""

    name: str
    created: str
    changed: str
    note: str
    runs: tuple[RunSample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineRow:
    """A measurement over the runs of a baseline."""

    key: RowKey
    runs: int
    time_s: float
    """Median over the runs."""
    busbw_bytes_per_s: float
    """Of that time."""
    spread: float | None
    """Relative standard deviation between runs, by their median absolute deviation; None under two runs."""
    least_s: float
    most_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """How much more bus bandwidth B has than A: -0.05 is 5 % less."""

    outcome: Comparable
    change: float
    low: float
    high: float
    """low to high: 95 % interval of this effect alone (of 1 - 2 alpha)."""
    p_adjusted: float
    """How likely so large an effect is between equals, with all other rows in mind (Holm)."""
    spread: float
    """Relative standard deviation between runs that was reckoned with."""
    spread_is_measured: bool
    """False = there are too few runs, and it was put together from what else is known."""
    reason: str = ""
    """Why it cannot be told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """One measurement on both sides."""

    key: RowKey
    runs_a: int
    runs_b: int
    time_a_s: float
    time_b_s: float
    """Medians over the runs."""
    busbw_a_bytes_per_s: float
    busbw_b_bytes_per_s: float
    effect: Effect


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What is compared: some runs."""

    name: str
    """As the user named it."""
    runs: tuple[RunSample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A key of two sides that differs."""

    key: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two sides, compared."""

    info: RunInfo
    verdict: Verdict
    outcome: Comparable
    a: Side
    b: Side
    overall: Effect | None
    """Of the typical row; None with a single row, which says it itself."""
    rows: tuple[ComparedRow, ...]
    only_a: tuple[RowKey, ...]
    only_b: tuple[RowKey, ...]
    ignored: tuple[Difference, ...]
    """Keys that differ, and were not to matter."""
    statistic: Literal["mean"]
    """Of the iterations of a run."""
    margin: float
    """Relative effects below it do not matter."""
    alpha: float
    """How likely any row of equals may be called different."""
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Against:
    """A measurement held against a baseline."""

    key: RowKey
    status: CheckStatus
    """fail = slower; unknown = it cannot be told, or is not comparable; skip = not in the baseline."""
    measured_busbw_bytes_per_s: float
    expected_busbw_bytes_per_s: float | None
    effect: Effect | None
    """The change; None = it is not known."""
    reason: str
    source: str
    """The baseline, and how many runs it has."""
