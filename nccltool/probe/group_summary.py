"""JUDGE groups of ranks against each other: which was slowest, and how much they cost each other. Pure."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from statistics import median

from nccltool.probe.result import Measurement, Placement
from nccltool.probe.split import SplitGroup

_SAME_SIZE = 0.99
"""Sizes are whole numbers of elements for each rank: in groups of different sizes they are not quite the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowestGroup:
    """The group with the lowest bus bandwidth of those that ran an operation at the same time."""

    op: str
    placement: Placement
    bytes: int
    group: str
    busbw_bytes_per_s: float
    low_busbw_bytes_per_s: float
    high_busbw_bytes_per_s: float
    """What it could be: from the 95 % interval of its time."""
    share_of_others: float
    """Of the median of the other groups' bus bandwidths."""
    stands_out: bool
    """Its interval is below those of all other groups: it is slower, and not only noisier."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupInterference:
    """What was left of a group's bus bandwidth while the other groups ran."""

    op: str
    placement: Placement
    bytes: int
    group: str
    ratio: float
    """Together over alone; 1 = the other groups cost it nothing."""
    low: float
    high: float
    """What the ratio could be: from the intervals of both."""


def is_mixed(groups: Iterable[SplitGroup]) -> bool:
    """Whether some groups use the network, and others are inside one node: they cannot be compared."""
    return len({len(group.nodes) > 1 for group in groups}) > 1


def slowest(rows: Iterable[Measurement], groups: Sequence[SplitGroup]) -> tuple[SlowestGroup, ...]:
    """Of each operation at the largest size that several groups ran at the same time; of mixed ones, those
    that use the network, if there are two."""
    across = {group.name for group in groups if len(group.nodes) > 1}
    largest: dict[tuple[str, Placement], dict[str, Measurement]] = {}
    for row in rows:
        if row.group and not row.group.alone:
            mine = largest.setdefault((row.op, row.placement), {})
            before = mine.get(row.group.name)
            if before is None or row.bytes > before.bytes:
                mine[row.group.name] = row
    found = (_of_one_kind(_of_one_size(list(mine.values())), across) for mine in largest.values())
    return tuple(_slowest(mine) for mine in found if len(mine) > 1)


def _of_one_size(rows: Sequence[Measurement]) -> list[Measurement]:
    most = max(row.bytes for row in rows)
    return [row for row in rows if row.bytes >= _SAME_SIZE * most]


def _of_one_kind(rows: Sequence[Measurement], across: Set[str]) -> list[Measurement]:
    kinds: dict[bool, list[Measurement]] = {True: [], False: []}
    for row in rows:
        kinds[row.group is not None and row.group.name in across].append(row)
    return kinds[True] if len(kinds[True]) > 1 else kinds[False]


def _slowest(rows: Sequence[Measurement]) -> SlowestGroup:
    last, *others = sorted(rows, key=lambda row: row.busbw_bytes_per_s)
    low, high = last.busbw_interval
    assert last.group is not None
    return SlowestGroup(
        op=last.op,
        placement=last.placement,
        bytes=last.bytes,
        group=last.group.name,
        busbw_bytes_per_s=last.busbw_bytes_per_s,
        low_busbw_bytes_per_s=low,
        high_busbw_bytes_per_s=high,
        share_of_others=last.busbw_bytes_per_s / median(row.busbw_bytes_per_s for row in others),
        stands_out=high < min(row.busbw_interval[0] for row in others),
    )


def interference(rows: Iterable[Measurement]) -> tuple[GroupInterference, ...]:
    """Of each row of a group that was measured both together with the others and alone."""
    found: list[GroupInterference] = []
    every = list(rows)
    alone = {_of_row(row): row for row in every if row.group and row.group.alone}
    for row in every:
        other = alone.get(_of_row(row)) if row.group and not row.group.alone else None
        if row.group and other:
            (low, high), (least, most) = row.busbw_interval, other.busbw_interval
            found.append(
                GroupInterference(
                    op=row.op,
                    placement=row.placement,
                    bytes=row.bytes,
                    group=row.group.name,
                    ratio=row.busbw_bytes_per_s / other.busbw_bytes_per_s,
                    low=low / most,
                    high=high / least,
                )
            )
    return tuple(found)


def _of_row(row: Measurement) -> tuple[str, Placement, int, str]:
    return row.op, row.placement, row.bytes, row.group.name if row.group else ""
