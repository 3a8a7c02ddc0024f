"""The checks of a suite, and what came of them: outcomes, hosts, the verdict. Frozen."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from nccltool.core.documents import RunInfo
from nccltool.core.findings import CheckStatus, Finding
from nccltool.core.units import format_bytes
from nccltool.core.verdicts import Verdict
from nccltool.probe.result import Measurement
from nccltool.train.result import TrainingResult

PAGE = "docs/runbooks/preflight.md"

CheckKind = Literal["plain", "presence", "completion", "data", "baseline"]
"""What it looks at, as far as verdicts ask. presence: a host came; completion: a run ended in order; data: faults
are named where they arrive; baseline: a number against earlier runs."""

STATUSES: tuple[CheckStatus, ...] = ("fail", "unknown", "warn", "pass", "skip")
"""The worst first."""
HostStatus = Literal["pass", "warn", "fail", "unknown", "missing", "undetermined"]
Blame = Literal["", "alone", "confirmed", "everywhere", "suspected"]
"""alone: seen on this host without any other; confirmed: again with another partner, and not without this host;
everywhere: the same on all hosts, so it is none of them; suspected: with others, and not confirmed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A check of a stage. Its text is its code, stable over runs: `across/all_reduce-busbw-64MiB`."""

    stage: str
    name: str = ""
    """A metric, a rule's code; empty = what `of` says, or the stage as a whole."""
    of: str = ""
    """Operation or strategy; empty = of none."""
    size: int | None = None
    kind: CheckKind = field(default="plain", compare=False)
    page: str = field(default="", compare=False)
    """Where more is written; empty = the page of what it found."""

    def __str__(self) -> str:
        return f"{self.stage}/{self.what}" if self.what else self.stage

    @property
    def what(self) -> str:
        """Its code without the stage."""
        size = "" if self.size is None else format_bytes(self.size).replace(" ", "")
        return "-".join(word for word in (self.of, self.name, size) if word)

    @property
    def is_stage(self) -> bool:
        """Whether it stands for its stage as a whole."""
        return not self.what

    def about(self, of: str, size: int | None = None) -> "Check":
        return replace(self, of=of, size=size)


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
    remedy: str = ""
    """What to do, where no finding says it."""
    before: str = ""
    """How often it did not pass in earlier runs; empty = the history does not say."""

    @property
    def code(self) -> str:
        """Stage and check: `doctor/NETIF-003`, `across/all_reduce-busbw-64MiB`."""
        return str(self.check)

    @property
    def stage(self) -> str:
        return self.check.stage


def worst(outcomes: Collection[CheckOutcome]) -> CheckStatus:
    """The worst status; that something is unknown counts where it was required."""
    counted = {one.status for one in outcomes if one.required or one.status != "unknown"}
    return next((status for status in STATUSES if status in counted), "skip")


def of_finding(check: Check, finding: Finding, **words: Any) -> CheckOutcome:
    """What a finding says of a check; `words` are more of the fields."""
    plain = CheckOutcome(
        check=check,
        host=None,
        status="fail" if finding.is_error else "warn",
        reason=finding.message,
        page=finding.page,
        findings=(finding,),
    )
    return replace(plain, **words)


@dataclass(frozen=True, kw_only=True, slots=True)
class HostVerdict:
    """What came of a suite for one host."""

    host: str
    status: HostStatus
    """undetermined: something failed that this host took part in, and it was not shown to be its fault."""
    reason: str
    exclude: bool
    """Measured on it alone, or confirmed with another partner: safe to take it out."""
    driver: str = ""
    """Version of its GPU driver; empty = it has none, or it is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageDuration:
    """How long a stage took."""

    stage: str
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """A suite, judged."""

    kind: ClassVar[str] = "preflight"
    """The command that made it."""
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
    stopped_s: float = 0.0
    """Of the duration, how long the command itself did not run."""
    stage_times: tuple[StageDuration, ...] = ()
    """Those that ran, or were found to have nothing to do; of older releases none is known."""
