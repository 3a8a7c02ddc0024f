"""Rows of a run that make one curve: an operation over its sizes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nccltool.probe import headline
from nccltool.probe.result import Measurement, RowGroup

_Key = tuple[str, str, str, str | None, str, RowGroup | None]
_NAMED = (2, 3, 4)
"""Places of what has no name yet: type, reduction, and cadence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRows:
    """Rows of one operation, by size."""

    name: str
    rows: tuple[Measurement, ...]

    @property
    def key(self) -> _Key:
        """What is the same in all of them."""
        return _key(self.rows[0])


def of(rows: Sequence[Measurement]) -> tuple[OperationRows, ...]:
    """In the order of the run; what differs between curves of an operation is in their names."""
    groups: dict[_Key, list[Measurement]] = {}
    for row in rows:
        if row.bytes > 0 and row.busbw_bytes_per_s > 0 and row.time_s.seconds > 0:
            groups.setdefault(_key(row), []).append(row)
    return tuple(
        OperationRows(name=_name(key, groups, group[0]), rows=tuple(sorted(group, key=lambda row: row.bytes)))
        for key, group in groups.items()
    )


def _key(row: Measurement) -> _Key:
    return (row.op, row.placement, row.dtype, row.reduce_op, row.cadence, row.group)


def _name(key: _Key, every: Iterable[_Key], row: Measurement) -> str:
    """With what differs between the curves of its operation."""
    of_op = [other for other in every if other[0] == key[0]]
    more = [str(word) for place, word in enumerate(key[:5]) if place in _NAMED and _differs(of_op, place)]
    return " ".join((headline.name(row), *more))


def _differs(keys: Sequence[_Key], place: int) -> bool:
    return len({key[place] for key in keys}) > 1
