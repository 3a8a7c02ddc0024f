"""The answer of `nccltool attach`: what was seen, the verdict on it, and the findings that follow. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nccltool.attach import finding_kinds
from nccltool.attach.judge.judge import judge, with_stragglers
from nccltool.attach.judge.result import AttachVerdict, Culprit
from nccltool.attach.seen.job import JobLook, Unread
from nccltool.core import verdicts
from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.errors import ResultNotWritten
from nccltool.core.findings import Finding, FindingKind, Severity, Subject
from nccltool.core.host_lists import briefly
from nccltool.core.verdicts import Verdict

_MOST_CULPRITS = 8
_LAST_S = 4e9
"""A time after that is none: the clock of a host may be anything."""
_AGAIN = "look again after some seconds, with more time between the samples: --interval 5"


@dataclass(frozen=True, kw_only=True, slots=True)
class AttachReport:
    """What came of looking at a job."""

    info: RunInfo
    look: JobLook
    answer: AttachVerdict
    findings: tuple[Finding, ...]
    verdict: Verdict
    is_live: bool = True
    """False: a look that was saved."""
    unsaved: ResultNotWritten | None = None
    """Why the look could not be saved."""

    @property
    def seen(self) -> str | None:
        """When the last sample was taken, as documents have it."""
        return _seen(self.look)

    @property
    def unread(self) -> tuple[Unread, ...]:
        """All that could not be read, hosts that were not reached first."""
        return (*self.look.unreached, *(one for host in self.look.hosts for one in host.unread))


def report(
    look: JobLook, command: tuple[str, ...], *, is_live: bool = True, stragglers: Sequence[Culprit] = ()
) -> AttachReport:
    """`stragglers`: what many earlier looks say of a job that moves."""
    answer = with_stragglers(judge(look), stragglers)
    findings = tuple(_findings(look, answer))
    hosts = tuple(dict.fromkeys(host.host for host in look.hosts))
    when = _seen(look)
    started = {"started": when} if when and not is_live else {}
    return AttachReport(
        info=begun_now(command, hosts=hosts, nodes=len(hosts), world_size=look.world_size, **started),
        look=look,
        answer=answer,
        findings=findings,
        verdict=verdicts.of_findings(findings, can_tell=bool(answer.ranks)),
        is_live=is_live,
    )


def _seen(look: JobLook) -> str | None:
    last = max((host.samples[-1].wall_s for host in look.hosts if host.samples), default=0.0)
    return f"{datetime.fromtimestamp(last, UTC):%Y-%m-%dT%H:%M:%SZ}" if 0 < last < _LAST_S else None


def _findings(look: JobLook, answer: AttachVerdict) -> Iterator[Finding]:
    if answer.state == "hung":
        yield from _held_up(look, answer, finding_kinds.JOB_HUNG, "error")
    elif answer.state == "slow":
        yield from _held_up(look, answer, finding_kinds.JOB_SLOW, "warning")
    elif answer.state == "unknown":
        yield finding_kinds.JOB_UNCLEAR.finding(
            subject=_RUN, message=answer.message, evidence=answer.notes, remedy=_to_see_more(look, answer)
        )
    blamed = {one.host for one in answer.culprits}
    for empty in look.empty:
        if empty.host not in blamed:
            yield finding_kinds.NOT_LOOKED_AT.finding(
                subject=Subject(kind="host", name=empty.host),
                message=f"no rank of the job was seen on {empty.host}: {empty.reason}",
                remedy="omit the host, or look there as root: a container may hide its ranks",
            )
    for one in look.unreached:
        yield finding_kinds.NOT_LOOKED_AT.finding(
            subject=Subject(kind="host", name=one.host or one.what),
            message=f"{one.what} was not looked at: {one.reason}",
            remedy=one.missing,
        )


_RUN = Subject(kind="run", name="job")


def _held_up(look: JobLook, answer: AttachVerdict, kind: FindingKind, severity: Severity) -> Iterator[Finding]:
    """The job, with what holds it up as far as that is likely; then the others that may."""
    likely = [one for one in answer.culprits if one.level != "low"]
    first = likely[0] if likely else None
    yield kind.finding(
        subject=_subject(first) if first is not None and first.level == "high" else _RUN,
        severity=severity,
        message=answer.message if first is None else f"{answer.message} ({first.level} confidence)",
        evidence=answer.notes if first is None else _evidence(first),
        remedy=_to_see_more(look, answer) if first is None else "; ".join(first.next_steps),
    )
    for one in [one for one in answer.culprits if one is not first][:_MOST_CULPRITS]:
        yield kind.finding(
            subject=_subject(one),
            severity="info" if severity == "error" and one.level == "low" else "warning",
            message=f"{one.message} ({one.level} confidence)",
            evidence=_evidence(one),
            remedy="; ".join(one.next_steps),
        )


def _to_see_more(look: JobLook, answer: AttachVerdict) -> str:
    """What would let stacks be read, where they were not; otherwise look longer."""
    if all(one.phase.kind != "unknown" or one.condition for one in answer.ranks):
        return _AGAIN
    stacks = [
        one for host in look.hosts for one in host.unread if one.what.startswith("Python stack") and one.missing
    ]
    wanted = dict.fromkeys(one.missing for one in stacks)
    where = {one.host for one in stacks}
    hosts = f" (on {briefly(sorted(where))})" if where and len(look.hosts) > 1 else ""
    return "; ".join(f"{one}{hosts}" for one in list(wanted)[:2]) or _AGAIN


def _evidence(one: Culprit) -> tuple[str, ...]:
    return (*one.evidence, *(f"other possible cause: {rival}" for rival in one.rivals))


def _subject(one: Culprit) -> Subject:
    if one.rank is not None:
        return Subject(kind="rank", name=str(one.rank))
    return Subject(kind="host", name=one.host) if one.host else _RUN
