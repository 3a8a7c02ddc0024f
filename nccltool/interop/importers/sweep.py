"""The sizes that a test must have printed, from the head of its output: minimum, maximum and step.

nccl-tests (src/common.cu, TimeTest): size = minBytes; size <= maxBytes; size *= step(factor) or += step(bytes). An
operation with one part per rank rounds a size down to whole parts, to 16 bytes or 4 elements each since 2.11.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from nccltool.core.units import format_bytes
from nccltool.interop.importers.base import Row

_HEAD = re.compile(
    r"# nThread \d+ nGpus \d+ minBytes (\d{1,18}) maxBytes (\d{1,18}) step: (\d{1,18})\((factor|bytes)\)"
)
_REDUCED = re.compile(r"# Reducing maxBytes to (\d{1,18}) due to memory limitation")
_MOST_SIZES = 100_000
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the head of a test says of its sizes, in bytes."""

    least: int
    most: int
    step: int
    is_factor: bool

    def sizes(self) -> tuple[int, ...] | None:
        """The sizes in order; None where they do not end, or are too many to be told."""
        step, size, found = self.step, self.least, []
        grows = step > 1 and size > 0 if self.is_factor else step > 0
        if not grows:
            return (size,) if self.least == self.most else None
        while size <= self.most:
            found.append(size)
            if len(found) > _MOST_SIZES:
                return None
            size = size * step if self.is_factor else size + step
        return tuple(found)


def of_head(line: str) -> Sweep | None:
    """The sweep that the line of parameters describes."""
    match = _HEAD.match(line)
    if match is None:
        return None
    return Sweep(int(match[1]), int(match[2]), int(match[3]), match[4] == "factor")


def reduced(sweep: Sweep, line: str) -> Sweep:
    """The sweep when a line says that the memory does not suffice for it."""
    match = _REDUCED.match(line)
    if match is None:
        return sweep
    most = min(sweep.most, int(match[1]))
    return Sweep(min(sweep.least, most), most, sweep.step, sweep.is_factor)


def missing(sweep: Sweep, rows: Sequence[Row], world_size: int) -> tuple[str, ...]:
    """The sizes without a row, as text; of each type, reduction and root that was measured."""
    sizes = sweep.sizes()
    if sizes is None:
        return ()
    found: list[str] = []
    groups = groupby(sorted(rows, key=_kind), key=_kind)
    for kind, of_kind in [(kind, list(group)) for kind, group in groups] or [(("", "", ""), [])]:
        gone = _gone(sizes, of_kind, world_size)
        told = f" {' '.join(filter(None, kind))}" if len({_kind(row) for row in rows}) > 1 else ""
        found += [f"{format_bytes(size)}{told}" for size in gone]
    return tuple(found)


def shown(texts: Sequence[str]) -> str:
    """A list for a message."""
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _kind(row: Row) -> tuple[str, str, str]:
    return row.dtype, row.reduce_op or "", "" if row.root is None else f"root {row.root}"


def _gone(sizes: Sequence[int], rows: Sequence[Row], world_size: int) -> list[int]:
    """The sizes to which no row belongs; a row stands for one size of each round (-N)."""
    left = Counter(row.bytes for row in rows)
    rounds = Counter(left.values()).most_common(1)[0][0] if left else 1
    element = rows[0].element_size if rows else 1
    gone = []
    for size in tuple(sizes) * rounds:
        printed = next((other for other in _roundings(size, element, world_size) if left[other]), None)
        if printed is None:
            gone.append(size)
        else:
            left[printed] -= 1
    return gone


def _roundings(size: int, element: int, ranks: int) -> list[int]:
    """What can be printed for a size."""
    units = (element, ranks * element, ranks * 16, 4 * ranks * element, 16)
    return sorted({size // unit * unit for unit in units}, reverse=True)
