"""What triage found in logs. Frozen; and as a JSON document."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from nccltool.core.documents import SCHEMA, RunInfo, encoded
from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Offender:
    """What to look at first, spelled as in the log."""

    kind: str
    """host, rank, interface, address, port, device, gpu, variable, file, plugin, process, limit, driver or
    parameter."""
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """A line of a log that shows something."""

    file: str
    line: int
    rank: int | None
    host: str | None
    time: str | None
    """As the log has it: [YYYY-]MM-DD HH:MM:SS[.fraction]."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A root cause, and how much speaks for it."""

    root_cause: str
    confidence: float
    """0 to 1; that of the first is the answer's."""
    why: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedCauses:
    """What happened, as far as it can be told."""

    root_cause: str = "none"
    confidence: float = 0.0
    settled_by: Literal["lines", "words"] = "lines"
    """words: no line settles it; the log has the words of known cases of this kind."""
    unknown: float = 1.0
    """How probable it is that the cause is none of the candidates."""
    offender: Offender | None = None
    suspects: tuple[Offender, ...] = ()
    """All of which the same lines say the same; the offender first."""
    first_failure: LogLine | None = None
    candidates: tuple[Candidate, ...] = ()
    """The most likely first."""
    evidence: tuple[LogLine, ...] = ()
    decides: str = "a log that is not empty"
    """What would settle it between the first two candidates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OverviewTable:
    """Rows of text under headers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """What the logs show of hosts and communicators, and what differs between hosts."""

    tables: tuple[OverviewTable, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident(RankedCauses):
    """What triage found in logs."""

    info: RunInfo
    verdict: Verdict
    findings: tuple[Finding, ...]
    lines_read: int
    overview: Overview = field(default_factory=Overview)
    ends_early: tuple[str, ...] = ()
    """Packed logs that were cut, or are still being written: the last lines are missing."""
    unread: tuple[str, ...] = ()
    """Why files in a folder could not be read, each with its name."""


def early_ends(files: Sequence[str]) -> str:
    """A reason to doubt: which files end early; empty where none does."""
    if not files:
        return ""
    name = "standard input" if files[0] == "-" else files[0]
    who = f"{name} and {counted(len(files) - 1, 'more file')} end" if files[1:] else f"{name} ends"
    return f"{who} early: the last lines are missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedJob:
    """A job, and what triage found in its logs."""

    name: str
    files: tuple[str, ...]
    incident: Incident


_WORST_FIRST = (130, 1, 3, 4, 0)


@dataclass(frozen=True, slots=True)
class TriageReport:
    """The jobs of the logs: those that failed first."""

    jobs: tuple[JudgedJob, ...]

    @classmethod
    def of(cls, jobs: Iterable[JudgedJob]) -> "TriageReport":
        return cls(tuple(sorted(jobs, key=lambda job: _WORST_FIRST.index(job.incident.verdict.exit_code))))

    @classmethod
    def of_one(cls, incident: Incident, files: Sequence[str]) -> "TriageReport":
        """Of logs that are all of one job."""
        return cls((JudgedJob(name=", ".join(files), files=tuple(files), incident=incident),))

    @property
    def worst(self) -> Incident:
        return self.jobs[0].incident

    @property
    def verdict(self) -> Verdict:
        return self.worst.verdict

    @property
    def lines_read(self) -> int:
        return sum(job.incident.lines_read for job in self.jobs)


def report_to_json(report: TriageReport) -> str:
    """The document: what is told of the worst job, the findings of all, and each job."""
    told = _told(report.worst)
    if len(report.jobs) > 1:
        hosts = dict.fromkeys(host for job in report.jobs for host in job.incident.info.hosts)
        told["run"] = replace(report.worst.info, hosts=tuple(hosts), nodes=None, world_size=None)
        told["findings"] = [finding for job in report.jobs for finding in job.incident.findings]
        told["ends_early"] = [name for job in report.jobs for name in job.incident.ends_early]
        told["unread"] = [why for job in report.jobs for why in job.incident.unread]
        told["lines_read"] = report.lines_read
    jobs = [{"name": job.name, "files": job.files} | _told(job.incident) for job in report.jobs]
    for job in jobs:
        del job["run"], job["picture"]
    return encoded({"schema": SCHEMA, "kind": "triage", **told, "jobs": jobs})


def _told(incident: Incident) -> dict[str, object]:
    told = {part.name: getattr(incident, part.name) for part in dataclasses.fields(incident)}
    verdict, run, found, overview = (told.pop(name) for name in ("verdict", "info", "findings", "overview"))
    about = {"status": verdict.status, "exit_code": verdict.exit_code, "run": run, "findings": found}
    return {**about, **told, "picture": overview}
