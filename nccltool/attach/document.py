"""The JSON document of `nccltool attach`."""

from collections.abc import Iterator

import msgspec

from nccltool.attach.judge.result import AttachVerdict, JobState, KillBy
from nccltool.attach.report import AttachReport
from nccltool.attach.seen.job import JobLook
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.documents import SCHEMA, RunDocument, encoded


class AttachedRank(msgspec.Struct, kw_only=True):
    """One rank, and what it does."""

    rank: int | None
    host: str
    pid: int
    phase: str
    detail: str
    where: str
    since_s: float | None
    condition: str
    moves: bool | None
    cpu_share: float | None
    launcher: str
    user: str
    known_by: str
    restarts: int | None


class AttachedWait(msgspec.Struct, kw_only=True, rename={"for_ranks": "for"}):
    """A rank that waits for others."""

    rank: int
    group: str
    operation: str
    for_ranks: tuple[int, ...]
    number: int | None


class AttachedCulprit(msgspec.Struct, kw_only=True):
    """A rank or host that holds the job up, or may."""

    rank: int | None
    host: str
    cause: str
    confidence: float
    level: str
    message: str
    evidence: tuple[str, ...]
    rivals: tuple[str, ...]
    next_steps: tuple[str, ...]


class AttachedProgress(msgspec.Struct, kw_only=True):
    """How fast the job goes; null = not known."""

    step: int | None
    step_s: float | None
    usual_step_s: float | None
    slower_since_s: float | None
    advanced: bool | None
    source: str
    data_bytes_per_s: float | None


class AttachedSlow(msgspec.Struct, kw_only=True):
    """Where a slow job loses its time."""

    since_s: float | None
    rank: int | None
    phase: str


class AttachedUnread(msgspec.Struct, kw_only=True):
    """What could not be read, and what right or package would help."""

    what: str
    reason: str
    missing: str
    host: str


class AttachedGone(msgspec.Struct, kw_only=True):
    """A rank that ended while its job goes on."""

    rank: int | None
    host: str
    pid: int | None
    how: str
    text: str


class AttachedHost(msgspec.Struct, kw_only=True):
    """What looking at a host took."""

    host: str
    ranks: int
    samples: int
    took_s: float
    own_cpu_s: float


class AttachDocument(RunDocument, kw_only=True):
    """Of nccltool attach."""

    state: JobState
    message: str
    since_s: float | None
    kill_in_s: float | None
    operations_per_s: float | None
    progress: AttachedProgress
    slow: AttachedSlow | None
    ranks: tuple[AttachedRank, ...]
    missing: tuple[int, ...]
    not_looked_at: int
    gone: tuple[AttachedGone, ...]
    waits: tuple[AttachedWait, ...]
    culprits: tuple[AttachedCulprit, ...]
    unread: tuple[AttachedUnread, ...]
    notes: tuple[str, ...]
    hosts: tuple[AttachedHost, ...]
    kill_by: KillBy | None = None
    seen: str | None = None


def to_json(report: AttachReport) -> str:
    return encoded(document(report)) + "\n"


def document(report: AttachReport) -> AttachDocument:
    answer, look = report.answer, report.look
    return AttachDocument(
        schema=SCHEMA,
        kind="attach",
        status=report.verdict.status,
        exit_code=report.verdict.exit_code,
        run=report.info,
        findings=report.findings,
        state=answer.state,
        message=answer.message,
        since_s=answer.since_s,
        kill_in_s=answer.kill_in_s,
        kill_by=answer.kill_by,
        seen=report.seen,
        operations_per_s=answer.operations_per_s,
        progress=_progress(answer),
        slow=_slow(answer),
        ranks=tuple(_ranks(answer, look)),
        missing=answer.missing,
        not_looked_at=answer.not_looked_at,
        gone=tuple(_gone(look)),
        waits=tuple(
            AttachedWait(
                rank=one.rank,
                group=one.group,
                operation=one.operation,
                for_ranks=one.for_ranks,
                number=one.number,
            )
            for one in answer.waits
        ),
        culprits=tuple(_culprits(answer)),
        unread=tuple(
            AttachedUnread(what=one.what, reason=one.reason, missing=one.missing, host=one.host)
            for one in report.unread
        ),
        notes=answer.notes,
        hosts=tuple(_hosts(look)),
    )


def _progress(answer: AttachVerdict) -> AttachedProgress:
    of = answer.progress
    return AttachedProgress(
        step=of.step,
        step_s=of.step_s,
        usual_step_s=of.usual_step_s,
        slower_since_s=of.slower_since_s,
        advanced=of.advanced,
        source=of.source,
        data_bytes_per_s=of.data_bytes_per_s,
    )


def _slow(answer: AttachVerdict) -> AttachedSlow | None:
    part = answer.slow
    return None if part is None else AttachedSlow(since_s=part.since_s, rank=part.rank, phase=part.phase)


def _ranks(answer: AttachVerdict, look: JobLook) -> Iterator[AttachedRank]:
    found = {(host.host, rank.pid): rank for host, rank in look.ranks()}
    for one in answer.ranks:
        of = found.get((one.host, one.pid)) or RankFound(host=one.host, pid=one.pid)
        yield AttachedRank(
            rank=one.rank,
            host=one.host,
            pid=one.pid,
            phase=one.phase.kind,
            detail=one.phase.text,
            where=one.phase.where,
            since_s=one.since_s,
            condition=one.condition,
            moves=one.moves,
            cpu_share=one.cpu_share,
            launcher=of.launcher,
            user=of.user,
            known_by=of.known_by,
            restarts=of.restarts,
        )


def _gone(look: JobLook) -> Iterator[AttachedGone]:
    for host in look.hosts:
        for one in host.gone:
            yield AttachedGone(rank=one.rank, host=one.host, pid=one.pid, how=one.how, text=one.text)


def _culprits(answer: AttachVerdict) -> Iterator[AttachedCulprit]:
    for one in answer.culprits:
        yield AttachedCulprit(
            rank=one.rank,
            host=one.host,
            cause=one.cause,
            confidence=one.confidence,
            level=one.level,
            message=one.message,
            evidence=one.evidence,
            rivals=one.rivals,
            next_steps=one.next_steps,
        )


def _hosts(look: JobLook) -> Iterator[AttachedHost]:
    for host in look.hosts:
        yield AttachedHost(
            host=host.host,
            ranks=len(host.ranks),
            samples=len(host.samples),
            took_s=round(host.took_s, 3),
            own_cpu_s=round(host.own_cpu_s, 3),
        )
