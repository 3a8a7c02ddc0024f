"""JUDGE measurements and findings: pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.units import format_bytes, format_gb_per_s
from nccltool.launch import plugin_ends
from nccltool.probe import collectives
from nccltool.probe.events import PluginRaised, WrongData
from nccltool.probe.finding_kinds import BUSBW_LOW, BUSBW_UNKNOWN, WRONG_DATA
from nccltool.probe.result import Measurement, RowGroup


def wrong_data(wrong: Sequence[WrongData]) -> tuple[Finding, ...]:
    """A finding for each rank that received wrong data, at its first place."""
    first: dict[int, WrongData] = {}
    total: Counter[int] = Counter()
    for event in wrong:
        first.setdefault(event.rank, event)
        total[event.rank] += event.elements
    return tuple(_wrong(event, total[event.rank]) for event in first.values())


def plugin_raised(raised: Sequence[PluginRaised]) -> Iterator[Finding]:
    """A finding for each operation of a plug-in that was left out while ranks ran."""
    for one in {event.op: event for event in reversed(raised)}.values():
        yield plugin_ends.not_measured(one.op, f"{one.text} (at {format_bytes(one.bytes)} on rank {one.rank})")


def _wrong(event: WrongData, total: int) -> Finding:
    plugin = collectives.origin(event.op)
    return WRONG_DATA.finding(
        subject=Subject(kind="rank", name=str(event.rank)),
        message=f"rank {event.rank} received {total} wrong element{'s' if total > 1 else ''}, "
        f"first in {event.op} at {format_bytes(event.bytes)}",
        evidence=(
            f"element {event.first_index}: got {event.got}, expected {event.expected} ({event.source})",
            *((f"{event.op} comes from the {plugin.title}, which may be wrong itself",) if plugin else ()),
        ),
        remedy="do not train on these hosts: repeat with -c 20 on each half of them to find the one that "
        "corrupts data",
    )


def below(
    measurements: Iterable[Measurement], ops: Iterable[str], min_busbw_gb_per_s: float | None
) -> tuple[Finding, ...]:
    """Operations whose bus bandwidth at their largest size is under the threshold, or cannot be told from it.

    Never the mean over sizes: it depends on the sweep more than on the fabric. `ops` were asked for; one that
    was not measured cannot be told either.
    """
    if min_busbw_gb_per_s is None:
        return ()
    largest: dict[tuple[str, str, RowGroup | None], Measurement] = {}
    for row in measurements:
        key = (row.op, row.placement, row.group)
        if key not in largest or row.bytes > largest[key].bytes:
            largest[key] = row
    found = [_against_threshold(row, min_busbw_gb_per_s) for row in largest.values()]
    measured = {op for op, _, _ in largest}
    missing = [_not_measured(op) for op in ops if op not in measured]
    return (*(finding for finding in found if finding is not None), *missing)


def _not_measured(op: str) -> Finding:
    return BUSBW_UNKNOWN.finding(
        subject=Subject(kind="operation", name=op),
        message=f"{op} was not measured, so its bus bandwidth cannot be checked",
        evidence=("threshold: --min-busbw, checked at the operation's largest size",),
        remedy="remove it from --op or choose sizes and a number of ranks that it supports",
    )


def _against_threshold(row: Measurement, min_gb_per_s: float) -> Finding | None:
    low, high = row.busbw_interval
    threshold = min_gb_per_s * 1e9
    of = f" in group {row.group.text}" if row.group else ""
    what = f"{row.op} at {format_bytes(row.bytes)}{of}: busbw {format_gb_per_s(row.busbw_bytes_per_s)} GB/s"
    evidence = (
        f"between {format_gb_per_s(low)} and {format_gb_per_s(high)} GB/s",
        "threshold: --min-busbw, checked at the operation's largest size",
    )
    if row.noisy and low < threshold < high:
        return BUSBW_UNKNOWN.finding(
            subject=Subject(kind="operation", name=row.op),
            message=f"{what}: too noisy to compare with {min_gb_per_s:g} GB/s",
            evidence=evidence,
            remedy="measure longer: --budget 5",
        )
    if row.busbw_bytes_per_s >= threshold:
        return None
    if row.launch_limited:
        return BUSBW_UNKNOWN.finding(
            subject=Subject(kind="operation", name=row.op),
            message=f"{what}: limited by launch overhead, so it cannot be compared with {min_gb_per_s:g} GB/s",
            evidence=evidence,
            remedy="use --cuda-graph; check what else runs on the CPUs of these hosts",
        )
    return BUSBW_LOW.finding(
        subject=Subject(kind="operation", name=row.op),
        message=f"{what} is below {min_gb_per_s:g} GB/s",
        evidence=evidence,
        remedy="check the rank and host that the others wait for; find a slow node or link with nccltool pairs",
    )
