"""What traces contain, and what was found out about them. Frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal["input", "launch", "late rank", "communication"]
"""Why time is lost: a rank waits for its DataLoader; a GPU waits for its CPU; ranks wait for one; data moves while
nothing is computed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedStep:
    """A step of training, by the clock of its own rank."""

    number: int
    begin_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.begin_s


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedCollective:
    """One call of a collective on one rank."""

    group: str
    operation: str
    begin_s: float
    seconds: float
    elements: int | None = None
    dtype: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedTime:
    """All kernels, or all operators, of one name."""

    name: str
    count: int
    total_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeUse:
    """What the time of a rank's steps was used for; None = the trace has no events of it."""

    window_s: float
    compute_s: float | None
    communication_s: float | None
    exposed_s: float | None
    """Communication while nothing was computed."""
    input_s: float | None
    """Waiting for the DataLoader with neither computation nor communication."""
    launch_s: float | None
    """The GPU had nothing to do while the CPU ran operators, launches, and Python between them."""
    other_s: float | None
    """What no event explains."""

    @property
    def hidden_s(self) -> float | None:
        if self.communication_s is None or self.exposed_s is None:
            return None
        return self.communication_s - self.exposed_s


@dataclass(frozen=True, kw_only=True, slots=True)
class RankTrace:
    """The trace of one rank."""

    file: str
    rank: int | None
    host: str = ""
    backend: str = ""
    world_size: int | None = None
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Members of process groups, by the name of the group."""
    steps: tuple[TracedStep, ...] = ()
    steps_from: str = ""
    """Which events mark the steps; empty = none do."""
    has_gpu: bool = False
    use: TimeUse
    kernels: tuple[NamedTime, ...] = ()
    operators: tuple[NamedTime, ...] = ()
    communication_kernels: tuple[NamedTime, ...] = ()
    collectives: tuple[TracedCollective, ...] = ()
    events: int = 0
    unread_events: int = 0
    ends_early: bool = False
    is_cut: bool = False
    """More collectives than are stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedGroup:
    """The collectives of a process group, the n-th of one rank with the n-th of the others."""

    group: str
    ranks: tuple[int, ...]
    collectives: tuple[tuple[TracedCollective, ...], ...] = ()
    """For each, one per rank in the order of `ranks`."""
    unmatched: str = ""
    """Why they cannot be matched; empty = they are."""
    unnamed: str = ""
    """Why no rank of it can be named although they are matched."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepArrivals:
    """Who came last to the collectives of a group, step by step."""

    group: str
    ranks: tuple[int, ...]
    collectives: int
    steps: int
    last_in: tuple[int, ...]
    """In how many steps each of `ranks` came last."""
    waited_s: tuple[float, ...]
    """How long each of `ranks` waited for the last one, all collectives together."""
    rank: int | None
    """The one that is late; None = none stands out."""
    gain_s: float | None = None
    """By how much a step would be shorter if it came no later than the second-last: median."""
    chance: float | None = None
    """How probable it is that a rank is last so often if all are equally likely to be."""
    why_not: str = ""
    """Why no rank is named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeLoss:
    """Time that steps lose for one reason."""

    cause: Cause
    share: float
    """Of the time of the steps."""
    rank: int | None
    """Whose share it is; None = that of the typical rank, or the trace does not say whose it is."""
    file: str = ""
    """Its trace; empty = all."""
