"""What was found: its severity, what it is about, and the one word over all of it. Frozen."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


Status = Literal["pass", "warn", "fail", "incomplete", "unknown"]


CheckStatus = Literal["pass", "warn", "fail", "unknown", "skip"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What a finding is about."""

    kind: Literal["host", "rank", "interface", "device", "variable", "link", "file", "operation", "run"]
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is wrong, where, why we think so, what to do."""

    code: str
    severity: Severity
    subject: Subject
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    page: str = ""
    """Where more is written; where nobody says, the section of its code in docs/findings.md."""

    def __post_init__(self) -> None:
        if not self.page:
            object.__setattr__(self, "page", f"docs/findings.md#{self.code}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The one word and the exit code of a run."""

    status: Status
    exit_code: int
