"""What a report is made of: runs with their documents, what triage finds in the failed ones, and a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nccltool.compare.result import Comparison, RowKey
from nccltool.history.result import HistoryAnswer
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run
from nccltool.triage.incident import Incident


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedRun:
    """A run, its document, and its folder; None = it was read from a file elsewhere."""

    run: Run | Preflight
    document: bytes
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankStretch:
    """A stretch of time that a rank spent in one phase."""

    rank: int
    begin: int
    end: int
    """Numbers of events in the order in which they came: saved events have no time."""
    what: str
    """The phase and the operation, or how it ended."""
    is_waiting: bool = False
    """It was inside a call of communication."""
    is_end: bool = False
    """What it says is how the rank ended."""
    is_stopped: bool = False
    """A signal had stopped its process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """All that the sections of a report may use."""

    runs: tuple[ReportedRun, ...]
    """Oldest first; at least one."""
    comparison: Comparison | None = None
    """Of the newest run with the one before it, or with a baseline."""
    not_compared: str = ""
    """Why they cannot be compared."""
    before: Mapping[RowKey, float] = field(default_factory=dict)
    """Bus bandwidths of what the newest run is compared with, B/s."""
    before_name: str = ""
    incident: Incident | None = None
    """What triage finds in the newest run, if that failed."""
    history: HistoryAnswer | None = None
    """What the history would say of these runs, if they are enough for it."""
    stretches: tuple[RankStretch, ...] = ()
    """What each rank of the newest run did, if that failed."""

    @property
    def newest(self) -> Run | Preflight:
        """The run whose details are shown."""
        return self.runs[-1].run
