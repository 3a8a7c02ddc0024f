"""The JSON document of `nccltool trace`."""

from statistics import median

import msgspec

from nccltool.core.documents import SCHEMA, RunDocument, encoded
from nccltool.trace.communicators import CommunicatorUse
from nccltool.trace.report import TraceReport
from nccltool.trace.result import NamedTime, RankTrace, StepArrivals, TimeLoss, TimeUse

_MOST_NAMES = 10


class TracedRank(msgspec.Struct, kw_only=True):
    """What the trace of one rank shows."""

    rank: int | None
    file: str
    host: str
    steps: int
    steps_from: str
    step_s: float | None
    step_min_s: float | None
    step_max_s: float | None
    use: TimeUse
    kernels: tuple[NamedTime, ...]
    communication: tuple[NamedTime, ...]
    operators: tuple[NamedTime, ...]
    collectives: int
    events: int
    unread_events: int
    ends_early: bool


class UnmatchedGroup(msgspec.Struct, kw_only=True):
    """A group whose collectives were not matched across ranks, and why."""

    group: str
    ranks: tuple[int, ...]
    reason: str


class TraceDocument(RunDocument, kw_only=True):
    """Of nccltool trace."""

    step_s: float | None
    late_rank: int | None
    losses: tuple[TimeLoss, ...]
    ranks: tuple[TracedRank, ...]
    arrivals: tuple[StepArrivals, ...]
    unmatched: tuple[UnmatchedGroup, ...]
    communicators: tuple[CommunicatorUse, ...] = ()


def to_json(report: TraceReport) -> str:
    return encoded(document(report)) + "\n"


def document(report: TraceReport) -> TraceDocument:
    return TraceDocument(
        schema=SCHEMA,
        kind="trace",
        status=report.verdict.status,
        exit_code=report.verdict.exit_code,
        run=report.info,
        findings=report.findings,
        step_s=report.step_s,
        late_rank=report.late_rank,
        losses=report.losses,
        ranks=tuple(map(_rank, report.traces)),
        arrivals=report.arrivals,
        unmatched=tuple(
            UnmatchedGroup(group=one.group, ranks=one.ranks, reason=one.unmatched)
            for one in report.groups
            if one.unmatched
        ),
        communicators=report.communicators,
    )


def _rank(one: RankTrace) -> TracedRank:
    times = [step.seconds for step in one.steps]
    return TracedRank(
        rank=one.rank,
        file=one.file,
        host=one.host,
        steps=len(times),
        steps_from=one.steps_from,
        step_s=median(times) if times else None,
        step_min_s=min(times, default=None),
        step_max_s=max(times, default=None),
        use=one.use,
        kernels=one.kernels[:_MOST_NAMES],
        communication=one.communication_kernels[:_MOST_NAMES],
        operators=one.operators[:_MOST_NAMES],
        collectives=len(one.collectives),
        events=one.events,
        unread_events=one.unread_events,
        ends_early=one.ends_early,
    )
