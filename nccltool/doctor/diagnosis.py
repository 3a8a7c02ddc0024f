"""What the doctor says: rules that were asked, what came of them, settings. Frozen."""

from dataclasses import dataclass

from nccltool.core.documents import RunInfo
from nccltool.core.findings import CheckStatus, Finding, Severity
from nccltool.core.verdicts import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleOutcome:
    """What came of one check. One that could not look is unknown, with the reason; never a pass."""

    code: str
    status: CheckStatus
    reason: str = ""
    """Why it is unknown or was skipped; of a check that could judge some hosts or parts, why not the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RulePage:
    """All that there is to say about a rule."""

    code: str
    family: str
    name: str
    severity: Severity
    what: str
    """What it finds, in one sentence."""
    why: str
    example: str
    instead: str
    source: str
    since: str
    """The release of NCCL that first reads what the rule is about; '' = all known ones do, or none does."""
    place: str
    """Where it is in the documentation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """A variable that is set, and where."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What came of asking rules about hosts."""

    info: RunInfo
    verdict: Verdict
    rules: tuple[RulePage, ...]
    """Those that were asked."""
    outcomes: tuple[RuleOutcome, ...]
    findings: tuple[Finding, ...]
    """The worst first."""
    settings: tuple[Assignment, ...]
    """The effective environment, of one host."""
    nccl: str | None = None
    """Version that the rules were asked for; None = not known."""
    fixes: tuple[str, ...] = ()
    """Lines for a shell that undo what was found, where they were asked for."""
    source: str = ""
    """The file with the settings, where no host was looked at."""
