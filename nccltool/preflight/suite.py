"""A suite: what each stage does, what is expected of its numbers; a platform, which expects more. Frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from nccltool.core.units import SECONDS
from nccltool.preflight.check import PAGE, Check

STAGES = ("inventory", "doctor", "reach", "within", "across", "pairs", "train")
"""In the order in which they run."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that can be expected."""

    unit: str
    """Its base unit."""
    units: Mapping[str, float]
    """As written in a file -> how many base units."""
    what: str


_BANDWIDTH: Mapping[str, float] = {"GB/s": 1e9, "MB/s": 1e6, "Gb/s": 1e9 / 8}
_SHARE = {"%": 0.01}
METRICS = {
    "busbw": Metric("B/s", _BANDWIDTH, "bus bandwidth"),
    "algbw": Metric("B/s", _BANDWIDTH, "algorithm bandwidth"),
    "time": Metric("s", SECONDS, "median time of one call"),
    "late": Metric("s", SECONDS, "how long the others wait for the last rank"),
    "share_of_limit": Metric("ratio", _SHARE, "bus bandwidth over what the wires allow"),
    "throughput": Metric("samples/s", {"samples/s": 1.0}, "sequences a second"),
    "exposed": Metric("ratio", _SHARE, "share of a step that waits for communication"),
    "efficiency": Metric("ratio", _SHARE, "speed against one rank alone"),
}
OF_PROBE = ("busbw", "algbw", "time", "late", "share_of_limit")
OF_TRAIN = ("throughput", "exposed", "efficiency")


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """What a number must be."""

    metric: str
    of: str
    """Operation or strategy; empty = each."""
    size: int | None
    """Bytes; None = the largest that was measured."""
    low: float | None
    high: float | None
    """In the base unit of the metric; None = no bound."""
    text: str
    """`at least 300 GB/s`, as it is written."""
    severity: Literal["fail", "warn"]
    backend: str
    """Only there; empty = anywhere."""
    nodes: int | None
    """Only with so many; None = any number."""
    source: str
    date: str
    measured_on: str
    seen_by_us: bool | None
    """None = the file does not say: a rule of ours rather than a number that somebody measured."""
    where: str
    """File and line."""

    @property
    def unit(self) -> str:
        """The base unit of what is measured."""
        return METRICS[self.metric].unit

    def check(self) -> Check:
        """What it makes a check of, in the stage that measured: `all_reduce-busbw-64MiB`."""
        return Check(stage="", name=self.metric, of=self.of, size=self.size, page=f"{PAGE}#{self.metric}")

    @property
    def provenance(self) -> str:
        """The source in one line."""
        seen = {True: "seen by us", False: "not seen by us", None: ""}[self.seen_by_us]
        return "; ".join(word for word in (self.source, self.measured_on, self.date, seen) if word)


@dataclass(frozen=True, kw_only=True, slots=True)
class InventoryPart:
    """Which hosts and GPUs there must be."""

    gpus: int | None = None
    """On each host; None = as many as most hosts have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorPart:
    """Which rules are asked."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachPart:
    """Who must reach whom."""

    names: Literal["fail", "warn", "ignore"] = "warn"
    """What it is when a host does not know another one's name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbePart:
    """What is measured, and what must come out."""

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    gpu_sizes: tuple[int, ...] = ()
    """Where every rank has a GPU; () = the same."""
    checks: int = 1
    row_s: float = 0.2
    """Time that one row may take to become precise."""
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainPart:
    """What is trained."""

    strategies: tuple[str, ...]
    steps: int = 3
    timed_steps: int = 0
    size: str = "tiny"
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Which hosts a platform is about. Empty or None = any."""

    gpu: str = ""
    """Part of the name of each GPU."""
    gpus: int | None = None
    """On a host."""
    provider: str = ""
    product: str = ""
    """How the name begins that the firmware gives the machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Numbers that a kind of machine should reach."""

    name: str
    title: str
    path: str
    match: Match
    within: tuple[Expectation, ...] = ()
    across: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """What to run, stage by stage; None = the suite does without it."""

    name: str
    title: str
    path: str
    about_s: float
    """How long it takes on healthy nodes, as its writer says."""
    inventory: InventoryPart | None = None
    doctor: DoctorPart | None = None
    reach: ReachPart | None = None
    within: ProbePart | None = None
    across: ProbePart | None = None
    train: TrainPart | None = None
    platform: str = ""
    """The platform whose numbers were added."""

    @property
    def stages(self) -> tuple[str, ...]:
        """Those that it has, in their order; pairs are not a part of any."""
        return tuple(name for name in STAGES if getattr(self, name, None) is not None)


def with_platform(suite: Suite, platform: Platform) -> Suite:
    """The suite, with what the platform expects of the stages that the suite has."""
    within = suite.within and replace(suite.within, expect=(*suite.within.expect, *platform.within))
    across = suite.across and replace(suite.across, expect=(*suite.across.expect, *platform.across))
    return replace(suite, within=within, across=across, platform=platform.name)
