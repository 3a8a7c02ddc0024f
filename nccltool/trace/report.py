"""The answer of `nccltool trace`: what traces show, and the findings that follow. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core import verdicts
from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.units import format_seconds
from nccltool.core.verdicts import Verdict
from nccltool.trace import finding_kinds
from nccltool.trace.arrivals import BY_CHANCE, arrivals
from nccltool.trace.matching import matched
from nccltool.trace.result import MatchedGroup, RankTrace, StepArrivals

MUCH = 0.1
"""Share of the steps' time that is worth a warning: what a DataLoader or a loop that is set up well leaves unused
is under 10 %."""
_RUN = Subject(kind="run", name="trace")
_STEPS = "mark steps: torch.profiler.profile(schedule=...) with prof.step() in the loop, on every rank"


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceReport:
    """What came of reading traces."""

    info: RunInfo
    traces: tuple[RankTrace, ...]
    groups: tuple[MatchedGroup, ...]
    arrivals: tuple[StepArrivals, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict

    @property
    def late_rank(self) -> int | None:
        return next((one.rank for one in self.arrivals if one.rank is not None), None)

    @property
    def step_s(self) -> float | None:
        """Of the slowest rank, the median step; None = no trace marks steps."""
        times = [median(step.seconds for step in one.steps) for one in self.traces if one.steps]
        return max(times, default=None)


def report(traces: Sequence[RankTrace], damage: Mapping[str, str], command: tuple[str, ...]) -> TraceReport:
    groups = matched(traces)
    last = arrivals(groups, traces)
    findings = tuple(_findings(traces, damage, groups, last))
    hosts = tuple(dict.fromkeys(one.host for one in traces if one.host))
    known = [one.world_size for one in traces if one.world_size]
    return TraceReport(
        info=begun_now(
            command,
            hosts=hosts,
            nodes=len(hosts) or None,
            world_size=max(known, default=None),
            backend=next((one.backend for one in traces if one.backend), None),
        ),
        traces=tuple(traces),
        groups=groups,
        arrivals=last,
        findings=findings,
        verdict=verdicts.of_findings(findings, can_tell=any(one.use.window_s for one in traces)),
    )


def _findings(
    traces: Sequence[RankTrace],
    damage: Mapping[str, str],
    groups: Sequence[MatchedGroup],
    last: Sequence[StepArrivals],
) -> Iterator[Finding]:
    for one in last:
        if one.rank is not None:
            yield _late(one, traces)
    yield from _shares(traces, last)
    for file, wrong in damage.items():
        yield finding_kinds.TRACE_DAMAGED.finding(
            subject=Subject(kind="file", name=file),
            message=wrong,
            remedy="copy the file again after the profiler has written all of it",
        )
    for group in groups:
        if group.unmatched:
            yield _unmatched(group)
    if not any(one.use.window_s for one in traces):
        yield finding_kinds.TRACE_UNCLEAR.finding(
            subject=_RUN, message="the traces have no events with times", remedy="profile some steps of the job"
        )


def _late(one: StepArrivals, traces: Sequence[RankTrace]) -> Finding:
    assert one.rank is not None
    assert one.gain_s is not None
    place = one.ranks.index(one.rank)
    host = next((trace.host for trace in traces if trace.rank == one.rank), "")
    on = f" on {host}" if host else ""
    where = on or " its host"
    lost = sum(one.waited_s) / max(1, len(one.ranks) - 1)
    return finding_kinds.TRACE_LATE_RANK.finding(
        subject=Subject(kind="rank", name=str(one.rank)),
        message=(
            f"rank {one.rank}{on} came last to the collectives of {one.last_in[place]} of {one.steps} steps; "
            f"without its lateness, a step would be {format_seconds(one.gain_s)} shorter"
        ),
        evidence=(
            f"{one.collectives} collectives of group {one.group}, matched by number; "
            f"each other rank waited {format_seconds(lost)} in them",
            f"by chance, this happens in fewer than {BY_CHANCE:.0%} of healthy traces".replace("%", " %"),
        ),
        remedy=f"compare its operators and kernels with those of another rank, and check{where}: "
        "other processes (top), CPU binding, clocks, and input",
    )


_SHARES = (
    (
        "input_s",
        finding_kinds.TRACE_INPUT,
        "waits for the DataLoader for {share} of its steps",
        "add workers and prefetching to the DataLoader, or move the data to faster storage",
    ),
    (
        "launch_s",
        finding_kinds.TRACE_LAUNCH,
        "has an idle GPU for {share} of its steps while the CPU runs operators and launches kernels",
        "use larger batches, torch.compile, or CUDA graphs, and remove calls that wait for the GPU",
    ),
    (
        "exposed_s",
        finding_kinds.TRACE_EXPOSED,
        "computes nothing during {share} of its steps while it communicates",
        "overlap it: DDP's bucket_cap_mb, FSDP's prefetching; measure the network with nccltool probe",
    ),
)


def _shares(traces: Sequence[RankTrace], last: Sequence[StepArrivals]) -> Iterator[Finding]:
    """For each way to lose time, the rank that loses most of it."""
    for name, kind, text, remedy in _SHARES:
        shares = {
            one.rank if one.rank is not None else one.file: lost / one.use.window_s
            for one in traces
            if one.use.window_s and (lost := getattr(one.use, name)) is not None
        }
        if shares and max(shares.values()) >= MUCH:
            waits = _waited(max(shares, key=shares.__getitem__), traces, last) if name == "exposed_s" else ()
            yield _share(kind, shares, text, remedy, waits)


def _waited(rank: int | str, traces: Sequence[RankTrace], last: Sequence[StepArrivals]) -> tuple[str, ...]:
    """How much of the communication of a rank was waiting for others, which no faster network mends."""
    window_s = next((one.use.window_s for one in traces if one.rank == rank), 0.0)
    waits = [one.waited_s[one.ranks.index(rank)] for one in last if isinstance(rank, int) and rank in one.ranks]
    if not waits or not window_s:
        return ("unknown: how much of that was waiting for other ranks",)
    return (f"it waited for the last rank to arrive during {max(waits) / window_s * 100:.0f} % of its steps",)


def _share(
    kind: FindingKind, shares: Mapping[int | str, float], text: str, remedy: str, more: tuple[str, ...]
) -> Finding:
    worst = max(shares, key=shares.__getitem__)
    is_rank = isinstance(worst, int)
    who = f"rank {worst}" if is_rank else str(worst)
    share = f"{shares[worst] * 100:.0f} %"
    others = f"median of all {len(shares)} traces: {median(shares.values()) * 100:.0f} %"
    return kind.finding(
        subject=Subject(kind="rank" if is_rank else "file", name=str(worst)),
        message=f"{who} {text.format(share=share)}",
        evidence=(*more, others, f"limit: {MUCH * 100:.0f} %"),
        remedy=remedy,
    )


def _unmatched(group: MatchedGroup) -> Finding:
    name = group.group or "unknown"
    return finding_kinds.TRACE_UNMATCHED.finding(
        subject=_RUN,
        message=f"collectives of group {name} were not matched across ranks: {group.unmatched}",
        remedy=_STEPS,
    )
