"""The answer of `nccltool trace`: what traces show, and the findings that follow. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core import verdicts
from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.core.verdicts import Verdict
from nccltool.trace import communicators, finding_kinds
from nccltool.trace.arrivals import BY_CHANCE, arrivals
from nccltool.trace.communicators import CommunicatorUse, late
from nccltool.trace.losses import MUCH, Part, input_excess, losses, shares, step_s, waited
from nccltool.trace.matching import matched
from nccltool.trace.result import Cause, MatchedGroup, RankTrace, StepArrivals, TimeLoss

_RUN = Subject(kind="run", name="trace")
_STEPS = "profile the same steps on every rank: torch.profiler.profile(schedule=...), with prof.step() in the loop"


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceReport:
    """The result of reading traces."""

    info: RunInfo
    traces: tuple[RankTrace, ...]
    communicators: tuple[CommunicatorUse, ...]
    """Of NCCL Inspector's records."""
    groups: tuple[MatchedGroup, ...]
    arrivals: tuple[StepArrivals, ...]
    losses: tuple[TimeLoss, ...]
    """The largest first."""
    findings: tuple[Finding, ...]
    verdict: Verdict

    @property
    def late_rank(self) -> int | None:
        """In the job; of communicators where traces name none."""
        of_traces = [one.rank for one in self.arrivals if one.rank is not None]
        known = [
            communicators.rank_of_job(one, self.communicators) for one in communicators.late(self.communicators)
        ]
        return next((rank for rank in (*of_traces, *known) if rank is not None), None)

    @property
    def step_s(self) -> float | None:
        """Of the slowest rank, the median step; None = no trace marks steps."""
        return step_s(self.traces)


def report(
    traces: Sequence[RankTrace],
    damage: Mapping[str, str],
    command: tuple[str, ...],
    inspected: Sequence[CommunicatorUse] = (),
) -> TraceReport:
    groups = matched(traces)
    last = arrivals(groups, traces)
    lost = losses(traces, last)
    has_times = bool(inspected) or any(one.use.window_s for one in traces)
    found = [_late_in(one, inspected) for one in late(inspected)]
    found += _findings(traces, damage, groups, last, lost)
    if not has_times:
        found.append(
            finding_kinds.TRACE_UNCLEAR.finding(
                subject=_RUN,
                message="the traces have no events with times",
                remedy="profile some steps of the job",
            )
        )
    findings = tuple(found)
    hosts = tuple(dict.fromkeys(one.host for one in traces if one.host))
    known = [one.world_size for one in traces if one.world_size]
    return TraceReport(
        info=begun_now(
            command,
            hosts=hosts,
            nodes=len(hosts) or None,
            world_size=max(known, default=None),
            backend=next((one.backend for one in traces if one.backend), "nccl" if inspected else None),
        ),
        traces=tuple(traces),
        communicators=tuple(inspected),
        groups=groups,
        arrivals=last,
        losses=lost,
        findings=findings,
        verdict=verdicts.of_findings(findings, can_tell=has_times),
    )


def _findings(
    traces: Sequence[RankTrace],
    damage: Mapping[str, str],
    groups: Sequence[MatchedGroup],
    last: Sequence[StepArrivals],
    lost: Sequence[TimeLoss],
) -> Iterator[Finding]:
    for loss in lost:
        if loss.cause == "late rank":
            yield from (_late(one, traces) for one in last if one.rank == loss.rank)
        elif loss.cause == "communication":
            yield _communication(loss, traces, last, groups)
        else:
            yield _of_one(loss, loss.cause, traces)
    for file, wrong in damage.items():
        yield finding_kinds.TRACE_DAMAGED.finding(
            subject=Subject(kind="file", name=file),
            message=wrong,
            remedy="copy the file again after the profiler has written all of it, or check its permissions",
        )
    for group in groups:
        if group.unmatched:
            yield _unmatched(group)


def _late(one: StepArrivals, traces: Sequence[RankTrace]) -> Finding:
    assert one.rank is not None
    assert one.gain_s is not None
    place = one.ranks.index(one.rank)
    host = next((trace.host for trace in traces if trace.rank == one.rank), "")
    on = f" on {host}" if host else ""
    where = on or " its host"
    lost = sum(one.waited_s) / max(1, len(one.ranks) - 1)
    more = input_excess(one.rank, traces)
    return finding_kinds.TRACE_LATE_RANK.finding(
        subject=Subject(kind="rank", name=str(one.rank)),
        message=(
            f"rank {one.rank}{on} came last to the collectives of {one.last_in[place]} of {one.steps} steps; "
            f"without its lateness, a step would be {format_seconds(one.gain_s)} shorter"
        ),
        evidence=(
            f"{one.collectives} collectives of group {one.group}, matched by number; "
            f"the other ranks waited {format_seconds(lost)} in them on average",
            _CHANCE,
            *([f"it waits for input {_percent(more)} of a step longer than the others"] if more else []),
        ),
        remedy=f"compare its operators and kernels with those of another rank, and check{where}: "
        "other processes (top), CPU binding, clocks, and input",
    )


def _late_in(one: CommunicatorUse, every: Sequence[CommunicatorUse]) -> Finding:
    """Its number in the job is unknown unless the communicator is that of all ranks."""
    rank = communicators.rank_of_job(one, every)
    assert one.gain is not None
    where = f"process {one.pid} on {one.host}"
    place = one.ranks_read.index(one.late_rank)
    others = sum(one.waited_s) / max(1, len(one.ranks_read) - 1)
    return finding_kinds.TRACE_LATE_RANK.finding(
        subject=Subject(kind="rank", name=str(rank)) if rank is not None else Subject(kind="file", name=where),
        message=(
            f"rank {one.late_rank} of communicator {one.communicator} ({where}) came last in {one.last_in[place]} "
            f"of {communicators.STRETCHES} parts of its collectives; without its lateness, they would take "
            f"{_percent(one.gain)} less time"
        ),
        evidence=(
            f"{one.matched} collectives, matched by number; "
            f"the other ranks waited {format_seconds(others)} in them on average",
            "share of a step: unknown, since NCCL Inspector records no steps",
            _CHANCE,
        ),
        remedy=f"check on {one.host}: other processes (top), CPU binding, clocks, and input; then profile steps",
    )


_OF_ONE: Mapping[Cause, tuple[FindingKind, str, str]] = {
    "input": (
        finding_kinds.TRACE_INPUT,
        "waits for the DataLoader for {share} of its steps",
        "add workers and prefetching to the DataLoader, or move the data to faster storage",
    ),
    "launch": (
        finding_kinds.TRACE_LAUNCH,
        "leaves its GPU idle for {share} of its steps while its CPU runs operators and launches kernels",
        "use larger batches, torch.compile, or CUDA graphs, and remove calls that wait for the GPU",
    ),
}


def _of_one(loss: TimeLoss, part: Part, traces: Sequence[RankTrace]) -> Finding:
    """What the trace of one rank shows, compared with the others."""
    kind, text, remedy = _OF_ONE[loss.cause]
    who = loss.file if loss.rank is None else f"rank {loss.rank}"
    typical = median(share for share, _ in shares(part, traces))
    return kind.finding(
        subject=Subject(kind="file", name=who) if loss.rank is None else Subject(kind="rank", name=str(loss.rank)),
        message=f"{who} {text.format(share=_percent(loss.share))}",
        evidence=(f"median of all {len(traces)} traces: {_percent(typical)}", _LIMIT),
        remedy=remedy,
    )


def _communication(
    loss: TimeLoss, traces: Sequence[RankTrace], last: Sequence[StepArrivals], groups: Sequence[MatchedGroup]
) -> Finding:
    """A rank without a trace may be the one that all wait for."""
    waits = [share for trace in traces if (share := waited(trace, last)) is not None]
    lacking = tuple(dict.fromkeys(one.unnamed for one in groups if one.unnamed))
    more = "; unknown: how much of that is waiting for other ranks"
    if waits:
        more = f"; waits for the last rank (up to {_percent(max(waits))} of a rank's steps) not counted"
        more += f"; unknown: waits for other ranks: {lacking[0]}" if lacking else ""
    return finding_kinds.TRACE_EXPOSED.finding(
        subject=_RUN,
        message=f"ranks communicate without computing for {_percent(loss.share)} of their steps",
        evidence=(f"median of {counted(len(traces), 'trace')}{more}", _LIMIT),
        remedy=("read the traces of all ranks; " if lacking else "")
        + "overlap it: DDP's bucket_cap_mb, FSDP's prefetching; measure the network with nccltool probe",
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


_LIMIT = f"limit: {_percent(MUCH)}"
_CHANCE = f"if ranks were equally fast, chance would do this in at most {_percent(BY_CHANCE)} of runs"


def _unmatched(group: MatchedGroup) -> Finding:
    name = group.group or "unknown"
    return finding_kinds.TRACE_UNMATCHED.finding(
        subject=_RUN,
        message=f"collectives of group {name} were not matched across ranks: {group.unmatched}",
        remedy=_STEPS,
    )
