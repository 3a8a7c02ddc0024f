"""What the history says: how hosts were, what failed again and again, which levels changed. Frozen."""

from dataclasses import dataclass
from typing import Literal

from nccltool.history.records import Series, VisitStatus

Question = Literal["all", "host", "check", "operation"]


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionChange:
    """A version that was another one before."""

    what: str
    """driver, backend, torch, nccltool, GPU, NICs."""
    before: str
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RepeatOffence:
    """A check that did not pass, and how often."""

    host: str
    """Empty = all hosts together."""
    check: str
    times: int
    """Runs in which it did not pass."""
    runs: int
    """Runs of the same command since the first of them."""
    alone: int
    """Of those times, how often no other host of the run had the same."""
    proven: int
    """How often the run showed that it was the fault of this host."""
    first: str
    """When it was seen for the first time in all of the history; RFC 3339."""
    last: str
    is_current: bool
    """The latest run had it too."""
    reason: str
    """Of the latest time."""
    since: tuple[VersionChange, ...] = ()
    """What was different when it was seen for the first time from the run before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostRecord:
    """How a host was."""

    host: str
    runs: int
    passed: int
    """With warnings too."""
    failed: int
    """Failed or missing; the others are not known."""
    first: str
    last: str
    status: VisitStatus
    """Of the latest run."""
    recent: tuple[VisitStatus, ...]
    """Of the latest runs, oldest first."""
    switches: int
    """How often it changed between good and bad in them."""
    is_flapping: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class TrendPoint:
    """A value of one run."""

    at: str
    value: float
    run: str
    """Id of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """A level that changed."""

    host: str
    """Empty = of all hosts together."""
    series: Series
    at: str
    """The first run at the new level."""
    earliest: str
    latest: str
    """95 % interval of `at`."""
    before: float
    after: float
    ratio: float
    """after / before."""
    ratio_low: float
    ratio_high: float
    """95 % interval of `ratio`."""
    chance: float
    """Of a change as clear as this in any of the series that were looked at, where there is none."""
    values: int
    """How many values the series has."""
    is_worse: bool
    since: tuple[VersionChange, ...] = ()
    """What changed in the interval of the date."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """The values of a series over time."""

    host: str
    """Empty = of all hosts together."""
    series: Series
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryAnswer:
    """What the history says to a question."""

    file: str
    question: Question
    word: str
    """The host, check, or operation; empty = about everything."""
    since: str
    """The earliest time that counts."""
    runs: int
    first: str
    last: str
    """Times of the oldest and the newest run that count; empty = there is none."""
    series: int
    """How many series were looked at for drift."""
    hosts: tuple[HostRecord, ...] = ()
    """The worst first."""
    offences: tuple[RepeatOffence, ...] = ()
    """The most telling first."""
    drifts: tuple[Drift, ...] = ()
    """The newest first."""
    trends: tuple[Trend, ...] = ()
    """Of a host, check, or operation."""
