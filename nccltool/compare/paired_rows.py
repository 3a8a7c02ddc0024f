"""The measurements that two sides have in common, row by row. Pure."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from statistics import median

from nccltool.compare import run_samples, significance
from nccltool.compare.result import RowKey, RowSample, Side
from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedRow:
    """A row of both sides: logarithms of times, one a run."""

    key: RowKey
    a: tuple[float, ...]
    b: tuple[float, ...]
    busbw_a: float
    busbw_b: float
    within_a: float | None
    within_b: float | None
    """Spread of single iterations in a usual run of a side; None = not known."""
    tail_a: float
    tail_b: float
    """How far the tail of a usual run of a side pulls its mean up: the logarithm of mean over median."""
    fewest: int | None
    """Iterations of the row of a run that has the fewest; None = not known."""

    @property
    def change(self) -> float:
        """Logarithm of the bus bandwidth of B over that of A."""
        return median(self.a) - median(self.b)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the spread between runs."""
        return len(self.a) + len(self.b) - 2

    @property
    def error_factor(self) -> float:
        """Standard error of the change, for a spread of 1."""
        return math.sqrt(significance.median_variance(len(self.a)) + significance.median_variance(len(self.b)))

    def single(self, unknown: float) -> float:
        """The spread of single iterations, with the weights that both sides have in the error of the change.

        What could close the gap counts: that the faster side goes up, and that the slower one loses its tail.
        """
        a, b = (significance.median_variance(len(times)) for times in (self.a, self.b))
        spread_a, spread_b = (unknown if known is None else known for known in (self.within_a, self.within_b))
        if self.change < 0:
            spread_b = max(spread_b, self.tail_b)
        else:
            spread_a = max(spread_a, self.tail_a)
        return math.sqrt((a * spread_a**2 + b * spread_b**2) / (a + b))

    @property
    def own(self) -> float | None:
        """The spread between runs as these runs show it."""
        return significance.pooled_sigma(self.a, self.b)


RowOfRuns = tuple[RowSample, ...]
"""A measurement of all runs of a side."""
_RowsByKey = dict[tuple[object, ...], RowOfRuns]


def paired(
    a: Side, b: Side, ignore: Collection[str]
) -> tuple[list[PairedRow], tuple[RowKey, ...], tuple[RowKey, ...]]:
    """(rows of both sides, those of A only, those of B only). Raises BadInput."""
    ours, theirs = rows_of(a, ignore), rows_of(b, ignore)
    both = [key for key in ours if key in theirs]
    if not both:
        _nothing_in_common(a, b, ours, theirs)
    return (
        [_pair(ours[key], theirs[key]) for key in both],
        tuple(ours[key][0].key for key in ours if key not in theirs),
        tuple(theirs[key][0].key for key in theirs if key not in ours),
    )


def rows_of(side: Side, ignore: Collection[str]) -> _RowsByKey:
    found: dict[tuple[object, ...], dict[str, RowSample]] = {}
    for run in side.runs:
        for row in run.rows:
            of_runs = found.setdefault(run_samples.without(row.key, ignore), {})
            if run.id in of_runs:
                problem = f"run {run.id} has several rows of {row.key.op} at {format_bytes(row.key.bytes)}"
                why = " that differ only in keys that --ignore names" if of_runs[run.id].key != row.key else ""
                raise BadInput(problem + why, "ignore fewer keys or omit this run")
            of_runs[run.id] = row
    return {key: tuple(of_runs.values()) for key, of_runs in found.items()}


def _nothing_in_common(a: Side, b: Side, ours: _RowsByKey, theirs: _RowsByKey) -> None:
    for side, rows in ((a, ours), (b, theirs)):
        if not rows:
            raise BadInput(
                f"{side.name} has no measurements to compare", "show its measurements with nccltool runs RUN"
            )
    keys = [[row[0].key for row in side.values()] for side in (ours, theirs)]
    what = "; ".join(run_samples.row_differences(*keys)) or "no row has the same keys on both sides"
    raise BadInput(
        f"{a.name} and {b.name} have no measurement in common: {what}",
        "measure the same operations on both sides; --ignore accepts dtype, reduce-op, placement, and cadence",
    )


def _pair(ours: RowOfRuns, theirs: RowOfRuns) -> PairedRow:
    times = [[row.seconds for row in side] for side in (ours, theirs)]
    return PairedRow(
        key=ours[0].key,
        a=tuple(map(math.log, times[0])),
        b=tuple(map(math.log, times[1])),
        busbw_a=busbw_at(ours, median(times[0])),
        busbw_b=busbw_at(theirs, median(times[1])),
        within_a=_within(ours),
        within_b=_within(theirs),
        tail_a=_tail(ours),
        tail_b=_tail(theirs),
        fewest=min((row.iterations for row in (*ours, *theirs) if row.iterations is not None), default=None),
    )


def _within(rows: RowOfRuns) -> float | None:
    known = [row.spread for row in rows if row.spread is not None]
    return median(known) if len(known) == len(rows) else None


def _tail(rows: RowOfRuns) -> float:
    return median(max(math.log(row.seconds / row.median_s), 0.0) if row.median_s else 0.0 for row in rows)


def busbw_at(rows: RowOfRuns, time_s: float) -> float:
    """At this time; size and factor are the same in all rows."""
    return rows[0].busbw_bytes_per_s * rows[0].seconds / time_s
