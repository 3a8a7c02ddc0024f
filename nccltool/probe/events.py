"""What the ranks of a measurement say in the event stream (nccltool.launch.events), beside what all ranks say."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from nccltool.launch import events
from nccltool.launch.events import Event
from nccltool.probe.result import Cadence, Launched, Placement, RowGroup
from nccltool.probe.split import SplitGroup
from nccltool.probe.traffic import UnevenTraffic
from nccltool.probe.transport import Limit

SAMPLES_PER_EVENT = 180
"""Nanosecond integers of up to 19 digits that fit an event."""

_RANKS_PER_EVENT = 150
_NODES_PER_EVENT = 12
"""Of up to 64 letters each, beside the limits of ten operations."""


class Samples(Event, frozen=True, tag="samples"):
    """Rank 0: nanoseconds per iteration, a stretch of them."""

    step: int
    ns: tuple[int, ...]

    @classmethod
    def of(cls, step: int, ns: Sequence[int]) -> "Iterator[Samples]":
        """All samples of a step, in as many events as they need."""
        for start in range(0, len(ns), SAMPLES_PER_EVENT):
            yield cls(step=step, ns=tuple(ns[start : start + SAMPLES_PER_EVENT]))


class Result(Event, frozen=True, tag="result"):
    """Rank 0: a step is done; its samples have been sent. The runner answers `saved` when it is on disk."""

    awaits_saving: ClassVar[bool] = True

    step: int
    op: str
    count: int
    bytes: int
    bytes_per_rank: int
    dtype: str
    reduce_op: str | None
    placement: Placement
    cadence: Cadence
    noisy: bool
    """The budget ended before the interval was as narrow as asked for."""
    wrong: int | None
    late_rank: int | None = None
    late_s: float | None = None
    late_ranks: tuple[tuple[int, float], ...] | None = None
    """(rank, seconds) of all that came late, the latest first; None = not measured."""
    launched: Launched | None = None
    launch_limited: bool = False
    group: RowGroup | None = None
    """None = of all ranks."""
    traffic: UnevenTraffic | None = None
    """None = the operation sends evenly."""


class Grouped(Event, frozen=True, tag="grouped"):
    """Rank 0: a piece of a group into which the ranks were divided."""

    number: int
    """Of the group."""
    name: str
    ranks: tuple[int, ...]
    nodes: tuple[str, ...]
    limits: tuple[Limit, ...] = ()
    """In its first piece."""

    @classmethod
    def of(cls, number: int, group: SplitGroup, limits: tuple[Limit, ...]) -> "Iterator[Grouped]":
        """All of a group, in as many events as it needs."""
        for at in range(max(-(-len(group.ranks) // _RANKS_PER_EVENT), -(-len(group.nodes) // _NODES_PER_EVENT))):
            yield cls(
                number=number,
                name=group.name,
                ranks=group.ranks[at * _RANKS_PER_EVENT : (at + 1) * _RANKS_PER_EVENT],
                nodes=group.nodes[at * _NODES_PER_EVENT : (at + 1) * _NODES_PER_EVENT],
                limits=() if at else limits,
            )


class WrongData(Event, frozen=True, tag="wrong"):
    """A rank found wrong elements in its receive buffer."""

    rank: int
    step: int
    op: str
    bytes: int
    elements: int
    first_index: int
    got: str
    expected: str
    source: str


class PluginRaised(Event, frozen=True, tag="plugin"):
    """A rank found that a plug-in's operation cannot be measured; all ranks leave it out from here on."""

    rank: int
    op: str
    bytes: int
    text: str
    """The plug-in, and what went wrong."""


class MeasuredWorld(events.World, frozen=True, tag="world"):
    """What carries the bytes, and the most that it allows."""

    limits: tuple[Limit, ...] = ()
    """Of all ranks together."""
    limit_source: str | None = None
    limit_unknown_reason: str | None = None
    transport: str | None = None
    nics: str | None = None


OF_PROBES: tuple[type[Event], ...] = (MeasuredWorld, Grouped, Samples, Result, WrongData, PluginRaised)
