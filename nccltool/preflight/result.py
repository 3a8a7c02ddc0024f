"""What came of a suite: outcomes, hosts, the verdict. Frozen."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core.documents import RunInfo
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.verdicts import Verdict
from nccltool.preflight.check import Check
from nccltool.probe.result import Measurement
from nccltool.train.result import TrainingResult

Blame = Literal["", "alone", "confirmed", "everywhere", "suspected"]
"""alone: seen on this host without any other; confirmed: again with another partner, and not without this host;
everywhere: the same on all hosts, so it is none of them; suspected: with others, and not confirmed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOutcome:
    """What came of one check of a suite, on one host or on all hosts together."""

    check: Check
    host: str | None
    """None = all hosts together."""
    status: CheckStatus
    measured: float | None = None
    """In `unit`; None = nothing was measured, or it is not a number."""
    expected: str = ""
    """`at least 300 GB/s`; empty = no threshold."""
    unit: str = ""
    source: str = ""
    """Of what is expected."""
    reason: str = ""
    """Why it is unknown, was skipped, or failed: one sentence."""
    page: str = ""
    """Of the rule or the runbook."""
    findings: tuple[Finding, ...] = ()
    evidence: str = ""
    """Folder with what was looked at; empty = none was kept."""
    shown: Blame = ""
    """Of a failure, whether it is shown to be that of `host`."""
    hosts: tuple[str, ...] = ()
    """All that took part; () = `host` alone."""
    repeat: str = ""
    """The command that looks again."""
    required: bool = True
    """Whether the verdict is unknown when this is."""

    @property
    def code(self) -> str:
        """Stage and check: `doctor/NETIF-003`, `across/all_reduce-busbw-64MiB`."""
        return str(self.check)

    @property
    def stage(self) -> str:
        """The stage of its check."""
        return self.check.stage


@dataclass(frozen=True, kw_only=True, slots=True)
class HostVerdict:
    """What came of a suite for one host."""

    host: str
    status: Literal["pass", "warn", "fail", "unknown", "missing", "undetermined"]
    """undetermined: something failed that this host took part in, and it was not shown to be its fault."""
    reason: str
    exclude: bool
    """Measured on it alone, or confirmed with another partner: safe to take it out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """A suite, judged."""

    info: RunInfo
    verdict: Verdict
    suite: str
    outcomes: tuple[CheckOutcome, ...]
    """In the order of the stages."""
    hosts: tuple[HostVerdict, ...]
    findings: tuple[Finding, ...]
    runs: tuple[str, ...]
    """Folders of the runs that it made."""
    duration_s: float
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    folder: str = ""
    """Where all of it is kept."""
    would_exit: int | None = None
    """What the exit code would have been; None = it is that one."""
