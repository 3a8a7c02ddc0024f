"""A suite: what each stage does, what is expected of its numbers; a platform, which expects more. Frozen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from nccltool.core.units import SECONDS
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import PAGE, Check


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that can be expected."""

    unit: str
    """Its base unit."""
    units: Mapping[str, float]
    """As written in a file -> how many base units."""


_BANDWIDTH: Mapping[str, float] = {"GB/s": 1e9, "MB/s": 1e6, "Gb/s": 1e9 / 8}
_SHARE = {"%": 0.01}
METRICS = {
    "busbw": Metric("B/s", _BANDWIDTH),  # bus bandwidth
    "algbw": Metric("B/s", _BANDWIDTH),  # algorithm bandwidth
    "time": Metric("s", SECONDS),  # time of one call
    "late": Metric("s", SECONDS),  # how long the others wait for the last rank
    "share_of_limit": Metric("ratio", _SHARE),  # bus bandwidth over what the wires allow
    "throughput": Metric("samples/s", {"samples/s": 1.0}),  # sequences a second
    "exposed": Metric("ratio", _SHARE),  # share of a step spent waiting for communication
    "efficiency": Metric("ratio", _SHARE),  # speed against one rank alone
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """What a number must be."""

    metric: str
    of: str = ""
    """Operation or strategy; empty = each."""
    size: Annotated[int | None, toml.size] = None
    """Bytes; None = the largest that was measured."""
    low: float | None = None
    high: float | None = None
    """In the base unit of the metric; None = no bound."""
    text: str
    """`at least 300 GB/s`, as it is written."""
    severity: Annotated[Literal["fail", "warn"], toml.word(("fail", "warn"))] = "fail"
    backend: Annotated[str, toml.word(("nccl", "gloo"))] = ""
    """Only there; empty = anywhere."""
    nodes: Annotated[int | None, toml.whole(1, 100_000)] = None
    """Only with so many; None = any number."""
    ranks_per_node: int | None = None
    """Only with so many; None = any number. Of platforms: one for each GPU, as they were measured."""
    source: Annotated[str, toml.text]
    date: Annotated[str, toml.text] = ""
    measured_on: Annotated[str, toml.text] = ""
    seen_by_us: Annotated[bool | None, toml.flag] = None
    """None = the file does not say: a rule of ours rather than a number that somebody measured."""

    @property
    def unit(self) -> str:
        return METRICS[self.metric].unit

    def check(self) -> Check:
        """What it makes a check of, in the stage that measured: `all_reduce-busbw-64MiB`."""
        return Check(stage="", name=self.metric, of=self.of, size=self.size, page=f"{PAGE}#{self.metric}")

    @property
    def provenance(self) -> str:
        seen = {True: "verified by nccltool", False: "not verified by nccltool", None: ""}[self.seen_by_us]
        return "; ".join(word for word in (self.source, self.measured_on, self.date, seen) if word)


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Which hosts a platform is about. Empty or None = any."""

    gpu: Annotated[str, toml.text] = ""
    """Part of the name of each GPU."""
    gpus: Annotated[int | None, toml.whole(0, 64)] = None
    """On a host."""
    provider: Annotated[str, toml.word(("aws", "gcp", "azure", "oci"))] = ""
    product: Annotated[str, toml.text] = ""
    """How the name begins that the firmware gives the machine."""

    def fits(self, host: HostFacts) -> bool:
        """A fact that is not known fits nothing."""
        names = or_none(host.gpu_names)
        if self.gpu and not (names and all(self.gpu in (or_none(name) or "") for name in names)):
            return False
        if self.gpus is not None and or_none(host.visible_gpus) != self.gpus:
            return False
        if self.provider and or_none(host.cloud.provider) != self.provider:
            return False
        return not self.product or (or_none(host.cloud.product_name) or "").startswith(self.product)

    @property
    def says(self) -> int:
        return sum(bool(word) for word in (self.gpu, self.gpus is not None, self.provider, self.product))


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Numbers that a kind of machine should reach."""

    name: str
    title: str
    path: str
    match: Match
    expect: Mapping[str, tuple[Expectation, ...]]
    """Of each stage that measures with probes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """What to run, stage by stage."""

    name: str
    title: str
    path: str
    about_s: float
    """How long it takes on healthy nodes, as its writer says."""
    parts: Mapping[str, Any]
    """Of each stage that it has, in their order, what that stage reads of it."""
    platform: str = ""
    """The platform whose numbers were added."""


def with_platform(suite: Suite, platform: Platform) -> Suite:
    """The suite, with what the platform expects of the stages that the suite has.

    What it expects of the same number, for any count of nodes, stands in for the rule of the suite.
    """
    more = {}
    for name, expected in platform.expect.items():
        if name in suite.parts:
            theirs = tuple(_on_all_gpus(one, platform) for one in expected)
            ours = _not_replaced(suite.parts[name].expect, theirs)
            more[name] = replace(suite.parts[name], expect=(*ours, *theirs))
    return replace(suite, parts={**suite.parts, **more}, platform=platform.name)


def _on_all_gpus(expected: Expectation, platform: Platform) -> Expectation:
    """A bandwidth was measured with a rank for each GPU; a share of what the links of those that take part allow
    holds for any of them."""
    is_share = expected.metric == "share_of_limit"
    return expected if is_share else replace(expected, ranks_per_node=platform.match.gpus)


def _not_replaced(ours: Sequence[Expectation], theirs: Sequence[Expectation]) -> Iterator[Expectation]:
    """Those of a suite of which a platform does not say the same number itself."""
    said = {(one.metric, one.of, one.size, one.backend) for one in theirs if one.nodes is None}
    return (one for one in ours if (one.metric, one.of, one.size, one.backend) not in said)


def fitting(known: Sequence[Platform], hosts: Sequence[HostFacts]) -> Platform | None:
    """The platform that fits every host, the one that says most about it; None = none does."""
    fits = [one for one in known if hosts and all(one.match.fits(host) for host in hosts)]
    return max(fits, key=lambda one: one.match.says, default=None)
