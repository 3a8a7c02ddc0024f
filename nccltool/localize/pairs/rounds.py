"""Who meets in the next round of a measurement, from what has been measured so far. Pure."""

from collections.abc import Sequence
from itertools import chain

from nccltool.localize import disturbances
from nccltool.localize.disturbances import Disturbances
from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.job import PairSpec
from nccltool.localize.pairs.units import MeetingUnit
from nccltool.localize.topology import Topology

CONTROLS_WITHIN = 6
"""Rounds that may follow all pairs of a node's ranks."""
Meeting = tuple[str, ...]
"""The names of those that meet."""


def next_meetings(
    spec: PairSpec, units: Sequence[MeetingUnit], encounters: Sequence[Encounter]
) -> tuple[Meeting, ...]:
    """Those of the next round, which run at the same time; none = enough is known, or all rounds are over."""
    if spec.is_within:
        return _within(spec, units, encounters)
    from nccltool.localize.schedule import next_round  # numpy

    gone, topology = absent(encounters), known(spec, units)
    split = disturbances.split(encounters, topology)
    if again := _disturbed(split, gone):
        return again
    return next_round(
        [unit.name for unit in units if unit.name not in gone],
        split.usual,
        topology=topology,
        seed=spec.seed,
        most_rounds=spec.most_rounds,
        is_all_pairs=spec.is_all_pairs,
        group_size=spec.group_size,
        expected_busbw_bytes_per_s=spec.expected_busbw_bytes_per_s,
    )


def _disturbed(split: Disturbances, gone: frozenset[str]) -> tuple[Meeting, ...]:
    """The pairs of the first disturbed round that have no other result: they meet again."""
    done = {frozenset(one.members) for one in split.usual}
    for number in split.rounds:
        met = {frozenset(one.members): one.members for one in split.disturbed if one.round == number}
        again = tuple(members for key, members in met.items() if key not in done and not key & gone)
        if again:
            return again
    return ()


def absent(encounters: Sequence[Encounter]) -> frozenset[str]:
    """Those that nobody waits for any longer: their last two meetings came to nothing, with different partners who
    have met others."""
    well = {name for one in encounters if one.busbw_bytes_per_s is not None for name in one.members}
    of: dict[str, list[Encounter]] = {}
    for one in encounters:
        for name in one.members:
            of.setdefault(name, []).append(one)
    return frozenset(name for name, met in of.items() if _is_absent(name, met, well))


def _is_absent(name: str, met: Sequence[Encounter], well: set[str]) -> bool:
    last = met[-2:]
    if len(last) < 2 or any(one.busbw_bytes_per_s is not None for one in last):
        return False
    partners = [{other for other in one.members if other != name} for one in last]
    return partners[0] != partners[1] and all(of_one <= well for of_one in partners)


def _within(spec: PairSpec, units: Sequence[MeetingUnit], encounters: Sequence[Encounter]) -> tuple[Meeting, ...]:
    """Every pair of each node's ranks, all nodes at the same time; then what the judge wants to know."""
    from nccltool.localize.schedule import circle, controls

    done = 1 + max((one.round for one in encounters), default=-1)
    nodes = [[unit.name for unit in units if unit.node == node] for node in dict.fromkeys(u.node for u in units)]
    every = max(map(circle.rounds_of, map(len, nodes)))
    if done < every:
        left = [circle.pairs(names, done) for names in nodes if done < circle.rounds_of(len(names))]
        return tuple(chain.from_iterable(left))
    if done >= every + CONTROLS_WITHIN:
        return ()
    return controls([unit.name for unit in units], encounters, known(spec, units))


def known(spec: PairSpec, units: Sequence[MeetingUnit]) -> Topology:
    """What is known of the network, and who can meet."""
    if not spec.is_within:
        return spec.topology.of(unit.name for unit in units)
    return Topology(home_of={unit.name: str(unit.node) for unit in units})
