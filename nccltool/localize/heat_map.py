"""Bandwidths of pairs as a matrix: who with whom, slowest rows first, folded where there are many nodes. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from nccltool.localize.encounter import Encounter

STEPS = (0.5, 0.7, 0.85, 0.95)
"""Shares of the healthy speed between the shades: always the same, so that pictures can be compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """A matrix of speeds as shares of the healthy one."""

    rows: tuple[str, ...]
    """Nodes, the slowest first; of directed measurements the senders."""
    columns: tuple[tuple[str, ...], ...]
    """Nodes that share a column."""
    cells: tuple[tuple[float | None, ...], ...]
    """The least of the measurements in it; None = there is none."""
    more_rows: int
    """Rows that are left out: faster than all of these."""


def shade(share: float) -> int:
    """0 for the slowest, 4 for a healthy one."""
    return sum(share >= step for step in STEPS)


def of(
    encounters: Sequence[Encounter], healthy: float | None, most_rows: int, most_columns: int
) -> HeatMap | None:
    """The matrix; None where there are no measured pairs, or no healthy speed to compare them with."""
    if not healthy:
        return None
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in encounters:
        if len(one.members) == 2 and one.busbw_bytes_per_s:
            a, b = one.members
            rates[a, b].append(one.busbw_bytes_per_s)
            if not one.is_directed:
                rates[b, a].append(one.busbw_bytes_per_s)
    if not rates:
        return None
    shares = {pair: min(several) / healthy for pair, several in rates.items()}
    order = _slowest_first(shares)
    senders = {a for a, _ in shares}
    rows = [node for node in order if node in senders]
    columns = _folded(order, most_columns)
    return HeatMap(
        rows=tuple(rows[:most_rows]),
        columns=columns,
        cells=tuple(tuple(_least(shares, node, column) for column in columns) for node in rows[:most_rows]),
        more_rows=max(len(rows) - most_rows, 0),
    )


def _slowest_first(shares: Mapping[tuple[str, str], float]) -> list[str]:
    """By the mean share; nodes of an equal one by name."""
    own: dict[str, list[float]] = defaultdict(list)
    for (a, b), share in shares.items():
        own[a].append(share)
        own[b].append(share)
    return sorted(own, key=lambda node: (round(fmean(own[node]), 3), node))


def _folded(nodes: Sequence[str], most: int) -> tuple[tuple[str, ...], ...]:
    width = -(-len(nodes) // most)
    return tuple(tuple(nodes[begin : begin + width]) for begin in range(0, len(nodes), width))


def _least(shares: Mapping[tuple[str, str], float], node: str, column: Sequence[str]) -> float | None:
    return min((shares[node, other] for other in column if (node, other) in shares), default=None)
