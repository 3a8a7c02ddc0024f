"""Who meets in the next round of a measurement, from what has been measured so far. Pure."""

from collections.abc import Sequence
from itertools import chain, zip_longest

from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.job import PairSpec
from nccltool.localize.pairs.units import Unit

Meeting = tuple[str, ...]
"""The names of those that meet."""


def next_meetings(spec: PairSpec, units: Sequence[Unit], encounters: Sequence[Encounter]) -> tuple[Meeting, ...]:
    """Those of the next round, which run at the same time; none = enough is known, or all rounds are over."""
    if spec.is_within:
        return _within(units, encounters)
    from nccltool.localize.schedule import next_round  # numpy

    return next_round(
        [unit.name for unit in units],
        encounters,
        topology=spec.topology,
        seed=spec.seed,
        most_rounds=spec.most_rounds,
        is_all_pairs=spec.is_all_pairs,
        group_size=spec.group_size,
    )


def _within(units: Sequence[Unit], encounters: Sequence[Encounter]) -> tuple[Meeting, ...]:
    """Every pair of each node's ranks, all nodes at the same time."""
    done = 1 + max((one.round for one in encounters), default=-1)
    nodes = [[unit.name for unit in units if unit.node == node] for node in dict.fromkeys(u.node for u in units)]
    rounds = (circle(names)[done : done + 1] for names in nodes)
    return tuple(chain.from_iterable(chain.from_iterable(rounds)))


def circle(names: Sequence[str]) -> list[list[Meeting]]:
    """Rounds in which each meets each other once, by the circle method: one stays, the others go round."""
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        facing = zip_longest(seats[:half], reversed(seats[half:]))
        rounds.append([(a, b) for a, b in facing if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds
