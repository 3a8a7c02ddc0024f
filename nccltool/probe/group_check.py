"""A process group that somebody else's program made, as its ranks see it: who is there, and JUDGE what they told.

Every rank judges the same reports with the same functions, so all of them come to the same result without a call
that could hang. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nccltool.core.findings import Finding, Severity, Subject
from nccltool.core.text import counted, named
from nccltool.core.units import format_seconds
from nccltool.core.verdicts import Verdict, of_findings
from nccltool.hosts.differences import PAGE as DIFFERENCES_PAGE
from nccltool.launch.finding_kinds import (
    COLLECTIVE_FAILED,
    DUPLICATE_GPU,
    HANG,
    RANK_MISSING,
    VERSION_MISMATCH,
    WORLD_SIZE,
)
from nccltool.probe import late_rank
from nccltool.probe.finding_kinds import LATE_RANK, WRONG_DATA
from nccltool.probe.late_rank import RankLateness

_NAMED = 8
LATE_ARRIVAL_S = 1.0
"""Ranks that are started together come to the same line of a script within a second, unless one has more to do."""
_VERSIONS = ("torch", "nccl", "python", "backend")


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRank:
    """A rank of the group, as it told about itself."""

    rank: int
    """In the group."""
    global_rank: int
    host: str
    pid: int
    device: str
    """`cpu`, or `cuda:0`."""
    gpu: str
    """Its UUID; empty = it uses none, or that is not known."""
    world_size: int
    """Of the group, as this rank knows it."""
    backend: str
    torch: str
    nccl: str
    """Empty = the backend is not NCCL."""
    python: str
    settings: Mapping[str, str]
    """Variables NCCL_*, RCCL_*, and the like; those that must differ between ranks, and secrets, are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankResult:
    """What a rank measured."""

    rank: int
    wrong: int
    """Elements of the checked calls that are not what they must be."""
    waits_ns: tuple[int, ...]
    """How long it was in each tiny all-reduce."""
    times_s: tuple[float, ...]
    """Of the large all-reduces."""
    error: str = ""
    """What a call raised; empty = none did."""
    arrival_wait_ns: int = 0
    """How long it waited in check() until all ranks had come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSpeed:
    """How fast the group was in a short measurement."""

    latency_s: float
    """Median of tiny all-reduces, on the rank that waited longest."""
    bytes: int
    time_s: float
    """Median of all-reduces of so many bytes, on the slowest rank."""
    busbw_bytes_per_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupCheck:
    """What came of looking at a process group; the same on all ranks."""

    verdict: Verdict
    world_size: int
    ranks: tuple[GroupRank, ...]
    """Those that came."""
    absent: tuple[int, ...]
    """Ranks of the group that did not come in time."""
    wrong: int | None
    """Wrong elements; None = no data was checked."""
    speed: GroupSpeed | None
    """None = nothing was measured."""
    arrived_late: tuple[RankLateness, ...]
    """Ranks that called check() a second or more after the others, the latest first."""
    late: tuple[RankLateness, ...]
    """Ranks that the others waited for in each measured call, the latest first."""
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether training may begin: everybody came, data is right, and nothing is an error."""
        return self.verdict.exit_code == 0


def incomplete(world_size: int, ranks: Sequence[GroupRank], absent: Sequence[int], waited_s: float) -> GroupCheck:
    """Ranks did not come: nothing was called that would hang."""
    hosts = {one.host for one in ranks}
    finding = RANK_MISSING.finding(
        subject=Subject(kind="rank", name=named(map(str, absent), _NAMED)),
        message=f"{_of_ranks(absent)} of {world_size} did not call check() within {waited_s:g} s",
        evidence=(f"came: {_of_ranks([one.rank for one in ranks])} on {named(sorted(hosts), _NAMED)}",),
        remedy="look at what these ranks do (py-spy dump), and at their logs; all ranks must call check()",
    )
    findings = (finding, *_differences(ranks))
    return _check(world_size, ranks, findings, absent=tuple(absent))


def judged(world_size: int, ranks: Sequence[GroupRank], results: Sequence[RankResult], size: int) -> GroupCheck:
    """All ranks came; those without a result did not return from a call."""
    done = {one.rank: one for one in results}
    silent = [one.rank for one in ranks if one.rank not in done]
    wrong = sum(one.wrong for one in results)
    whole = [one for one in results if not one.error]
    is_whole = len(whole) == len(ranks)
    late = late_rank.in_row([done[one.rank].waits_ns for one in ranks]) if is_whole else ()
    arrived_late = () if silent else _arrived_late(results)
    hosts = {one.rank: one.host for one in ranks}
    findings = (
        *_differences(ranks),
        *_silent(silent),
        *_failed([one for one in results if one.error]),
        *_wrong(results),
        *_came_late(arrived_late, hosts),
        *_late(late, hosts),
    )
    speed = _speed(whole, len(ranks), size) if is_whole else None
    known = wrong if whole else None
    return _check(world_size, ranks, findings, wrong=known, speed=speed, arrived_late=arrived_late, late=late)


def _arrived_late(results: Sequence[RankResult]) -> tuple[RankLateness, ...]:
    """Who came last waited least: no clocks are compared."""
    ordered = sorted(results, key=lambda one: one.rank)
    found = late_rank.in_row([(one.arrival_wait_ns,) for one in ordered])
    return tuple(one for one in found if one.late_s >= LATE_ARRIVAL_S)


def _check(
    world_size: int,
    ranks: Sequence[GroupRank],
    findings: tuple[Finding, ...],
    *,
    absent: tuple[int, ...] = (),
    wrong: int | None = None,
    speed: GroupSpeed | None = None,
    arrived_late: tuple[RankLateness, ...] = (),
    late: tuple[RankLateness, ...] = (),
) -> GroupCheck:
    return GroupCheck(
        verdict=of_findings(findings, can_tell=wrong is not None),
        world_size=world_size,
        ranks=tuple(ranks),
        absent=absent,
        wrong=wrong,
        speed=speed,
        arrived_late=arrived_late,
        late=late,
        findings=findings,
    )


def _differences(ranks: Sequence[GroupRank]) -> Iterator[Finding]:
    """Whether the ranks agree: on the world, versions, settings, and who has which GPU."""
    yield from _worlds(ranks)
    for what in _VERSIONS:
        values = {one.rank: str(getattr(one, what)) for one in ranks}
        if len(set(values.values())) > 1:
            yield VERSION_MISMATCH.finding(
                subject=Subject(kind="run", name=what),
                message=f"ranks differ in {what}: {_who_has(values)}",
                remedy="install the same versions on all hosts",
            )
    for name in sorted({name for one in ranks for name in one.settings}):
        values = {one.rank: one.settings.get(name, "not set") for one in ranks}
        if len(set(values.values())) > 1:
            yield Finding(
                code="env-differs",
                severity="warning",
                subject=Subject(kind="variable", name=name),
                message=f"ranks differ in {name}: {_who_has(values)}",
                remedy=f"give {name} the same value on all ranks",
                page=f"{DIFFERENCES_PAGE}#env-differs",
            )
    yield from _shared_gpus(ranks)


def _worlds(ranks: Sequence[GroupRank]) -> Iterator[Finding]:
    sizes = {one.rank: str(one.world_size) for one in ranks}
    if len(set(sizes.values())) > 1:
        yield WORLD_SIZE.finding(
            subject=Subject(kind="run", name="world"),
            message=f"ranks differ in the size of the group: {_who_has(sizes)}",
            remedy="start all commands with the same number of ranks",
        )


def _shared_gpus(ranks: Sequence[GroupRank]) -> Iterator[Finding]:
    counts = Counter((one.host, one.gpu) for one in ranks if one.gpu)
    for (host, gpu), count in counts.items():
        if count > 1:
            users = [one.rank for one in ranks if (one.host, one.gpu) == (host, gpu)]
            yield DUPLICATE_GPU.finding(
                subject=Subject(kind="device", name=f"{gpu} on {host}"),
                message=f"{_of_ranks(users)} use the same GPU of {host}",
                remedy="call torch.cuda.set_device(LOCAL_RANK) before the group is made",
            )


def _silent(silent: Sequence[int]) -> Iterator[Finding]:
    if silent:
        yield HANG.finding(
            subject=Subject(kind="rank", name=named(map(str, silent), _NAMED)),
            message=f"{_of_ranks(silent)} did not finish the checked calls in time",
            remedy="look at what these ranks do (py-spy dump); end the job, since its group waits in a call",
        )


def _failed(failed: Sequence[RankResult]) -> Iterator[Finding]:
    for one in failed[:_NAMED]:
        yield COLLECTIVE_FAILED.finding(
            subject=Subject(kind="rank", name=str(one.rank)),
            message=f"rank {one.rank}: a checked call failed",
            evidence=(one.error,),
            remedy="nccltool triage reads the logs of the ranks",
        )


def _wrong(results: Sequence[RankResult]) -> Iterator[Finding]:
    for one in results:
        if one.wrong:
            yield WRONG_DATA.finding(
                subject=Subject(kind="rank", name=str(one.rank)),
                message=f"rank {one.rank} received {counted(one.wrong, 'wrong element')}",
                remedy="do not train on this group; nccltool probe finds the operation and the host",
            )


def _came_late(late: Sequence[RankLateness], hosts: Mapping[int, str]) -> Iterator[Finding]:
    for one in late:
        who = f"rank {one.rank} on {hosts[one.rank]}"
        yield LATE_RANK.finding(
            subject=Subject(kind="rank", name=str(one.rank)),
            severity="warning",
            message=f"{who} called check() {format_seconds(one.late_s)} after the others",
            evidence=("the others waited that long in check(), as their own clocks say",),
            remedy="look at what it did before the call: imports, data, a checkpoint, a slow file system",
        )


def _late(late: Sequence[RankLateness], hosts: Mapping[int, str]) -> Iterator[Finding]:
    for one in late:
        severity: Severity = "error" if one.late_s >= late_rank.FAIL_S else "warning"
        yield LATE_RANK.finding(
            subject=Subject(kind="rank", name=str(one.rank)),
            severity=severity,
            message=f"the others waited {format_seconds(one.late_s)} for rank {one.rank} on {hosts[one.rank]}",
            evidence=(f"median of {late_rank.ROUNDS} empty all-reduces",),
            remedy="look at other processes on its cores (top), CPU binding, clocks, and throttling",
        )


def _speed(results: Sequence[RankResult], ranks: int, size: int) -> GroupSpeed:
    slowest = [max(times) for times in zip(*(one.times_s for one in results), strict=True)]
    longest = [max(waits) / 1e9 for waits in zip(*(one.waits_ns for one in results), strict=True)]
    time_s = median(slowest)
    # 2(n-1) of n chunks cross the slowest link, as in nccl-tests (doc/PERFORMANCE.md)
    factor = 2 * (ranks - 1) / ranks
    return GroupSpeed(
        latency_s=median(longest), bytes=size, time_s=time_s, busbw_bytes_per_s=factor * size / time_s
    )


def _who_has(values: Mapping[int, str]) -> str:
    """`2.8.0 on ranks 0, 1; 2.7.1 on rank 2`: what most have first."""
    counts = Counter(values.values()).most_common(_NAMED)
    texts = [f"{text} on {_of_ranks([rank for rank, own in values.items() if own == text])}" for text, _ in counts]
    return "; ".join(texts)


def _of_ranks(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {named(map(str, ranks), _NAMED)}"
