"""What was found: its kind, how bad it is, what it is about. Frozen.

A kind says once, where it is defined, what it does to a run. Documents and events have its code,
by which `Finding.kind` finds it again. A room defines its kinds in `finding_kinds`, or beside the one place that
makes them; those that workers make belong to the room that judges them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from nccltool.core.look import PLAIN, Look, Tone
from nccltool.core.text import escaped

Severity = Literal["error", "warning", "info"]
_INDENT = "    "
_TONES: dict[Severity, Tone] = {"error": "fail", "warning": "warn", "info": "dim"}
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first."""

CheckStatus = Literal["pass", "warn", "fail", "unknown", "skip"]


def check_status(severities: Collection[Severity]) -> Literal["pass", "warn", "fail"]:
    """Of a check that found something this bad; a hint alone is a pass."""
    return "fail" if "error" in severities else "warn" if "warning" in severities else "pass"


RunEffect = Literal["answer", "incomplete", "unknown", "note"]
"""What a finding does to a run. answer: an error is a check that failed; incomplete: an error ended the
measurement; unknown: something could not be told; note: there are no errors of this kind."""

ManualPage = Literal[
    "findings.md",
    "findings-hosts.md",
    "findings-results.md",
    "findings-training.md",
    "findings-pairs.md",
    "findings-jobs.md",
]
MANUAL_PAGES: tuple[ManualPage, ...] = get_args(ManualPage)
"""Those of docs/ with a section for each code."""

SubjectKind = Literal["host", "rank", "interface", "device", "variable", "link", "file", "operation", "run"]
_ACCUSED: tuple[SubjectKind, ...] = ("host", "rank", "interface", "device", "link")
"""What can be at fault; the others only say what a finding is about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What a finding is about."""

    kind: SubjectKind
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingKind:
    """What all findings of a code have in common."""

    code: str
    effect: RunEffect
    severities: tuple[Severity, ...] = ("error",)
    """Those that its findings may have; the first is that of most."""
    retry: bool = False
    """Whether another attempt with the same order may do better."""
    may_be_the_order: bool = False
    """Whether it may come from what was asked for, be it a variable: one host with it is not shown to be bad."""
    root_causes: tuple[str, ...] = ()
    """Those of triage that say the same."""
    is_symptom: bool = False
    """Whether a number was beyond a threshold, and nothing more: its root causes only fit."""
    page: ManualPage = "findings.md"
    """The page that has its section."""
    suspects: tuple[Severity, ...] = ("error",)
    """With which severities the host, rank, device or link of a finding is a suspect; () = it accuses nobody."""

    def finding(
        self,
        *,
        subject: Subject,
        message: str,
        severity: Severity | None = None,
        evidence: tuple[str, ...] = (),
        remedy: str = "",
        page: str = "",
    ) -> "Finding":
        severity = severity or self.severities[0]
        assert severity in self.severities, f"{self.code} is never {severity}"
        return Finding(
            code=self.code,
            severity=severity,
            subject=subject,
            message=message,
            evidence=evidence,
            remedy=remedy,
            page=page,
        )


_KINDS: dict[str, FindingKind] = {}


def define(
    code: str,
    effect: RunEffect,
    *severities: Severity,
    retry: bool = False,
    may_be_the_order: bool = False,
    root_causes: tuple[str, ...] = (),
    is_symptom: bool = False,
    page: ManualPage = "findings.md",
    suspects: tuple[Severity, ...] | None = None,
) -> FindingKind:
    """A new kind; `severities` are errors unless others are named; errors accuse unless told."""
    assert code not in _KINDS, f"{code} is defined twice"
    severities = severities or ("error",)
    usual: tuple[Severity, ...] = ("error",) if "error" in severities and not may_be_the_order else ()
    _KINDS[code] = kind = FindingKind(
        code=code,
        effect=effect,
        severities=severities,
        retry=retry,
        may_be_the_order=may_be_the_order,
        root_causes=root_causes,
        is_symptom=is_symptom,
        page=page,
        suspects=usual if suspects is None else suspects,
    )
    return kind


def kinds() -> tuple[FindingKind, ...]:
    """The kinds of all rooms that have been imported."""
    return tuple(_KINDS.values())


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
    """Where more is written; by default the section of its code in the manual."""

    def __post_init__(self) -> None:
        if not self.page:
            object.__setattr__(self, "page", f"docs/{self.kind.page}#{self.code}")

    @property
    def kind(self) -> FindingKind:
        """What its code stands for; of another one, such as a rule's, an error is a failed check."""
        return _KINDS.get(self.code) or FindingKind(code=self.code, effect="answer", severities=SEVERITIES)

    @property
    def is_error(self) -> bool:
        """Whether it decides the exit code."""
        return self.severity == "error"

    @property
    def suspect(self) -> Subject | None:
        """Whom it accuses; None = nobody."""
        return self.subject if self.severity in self.kind.suspects and self.subject.kind in _ACCUSED else None

    @property
    def effect(self) -> RunEffect:
        """What it does to its run: only an error ends or answers one."""
        effect = self.kind.effect
        return effect if self.is_error or effect == "unknown" else "note"

    @property
    def headline(self) -> str:
        """`ERROR rank-died: what happened`, as it came."""
        return f"{self.severity.upper()} {self.code}: {self.message}"

    def lines(self, look: Look = PLAIN) -> list[str]:
        """All of it for people. Hosts and ranks are quoted in it: nothing of that acts on a terminal."""
        word, _, rest = escaped(self.headline).partition(" ")
        head, *more = look.wrapped(f"{word} {rest}", _INDENT)
        evidence = [line for text in self.evidence for line in text.splitlines()]
        remedy = [f"-> {self.remedy}"] if self.remedy else []
        page = [f"nccltool explain {self.code}"] if self.severity != "info" else []
        below = [escaped(f"{_INDENT}{line}") for line in (*evidence, *remedy, *page)]
        lines = [line for text in below for line in look.wrapped(text, 2 * _INDENT)]
        return [look.painted(word, _TONES[self.severity]) + head.removeprefix(word), *more, *lines]
