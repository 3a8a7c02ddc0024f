"""The next round: first everyone with someone new, then what the judge wants to know."""

import random
from collections.abc import Sequence

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge.verdict import judge
from nccltool.localize.schedule import circle
from nccltool.localize.topology import Topology

FIRST_ROUNDS = 6
"""With fewer, a node that is slow half of the time can look healthy."""


def next_round(
    nodes: Sequence[str],
    encounters: Sequence[Encounter],
    *,
    topology: Topology,
    seed: int,
    most_rounds: int,
    is_all_pairs: bool = False,
    group_size: int = 2,
) -> tuple[tuple[str, ...], ...]:
    """The members that meet at the same time; empty: enough is known, or nobody is left to meet."""
    done = len({each.round for each in encounters})
    names = sorted(nodes)
    random.Random(seed).shuffle(names)  # noqa: S311
    all_of_them = circle.rounds_of(len(names))
    if is_all_pairs and group_size == 2 and done < all_of_them:
        return circle.pairs(names, done)
    if done >= most_rounds or len(names) < 2:
        return ()
    if group_size > 2:
        return _groups(names, seed + done, group_size) if done < min(FIRST_ROUNDS, most_rounds) else ()
    if done < min(FIRST_ROUNDS, all_of_them):
        return circle.pairs(names, done)
    return _asked(judge(encounters, nodes=names, topology=topology).next_tests)


def _asked(tests: Sequence[object]) -> tuple[tuple[str, ...], ...]:
    from nccltool.localize.result import NextTest

    busy: set[str] = set()
    chosen = []
    for test in tests:
        if isinstance(test, NextTest) and not busy & {*test.members}:
            busy |= {*test.members}
            chosen.append(test.members)
    return tuple(chosen)


def _groups(names: Sequence[str], seed: int, size: int) -> tuple[tuple[str, ...], ...]:
    order = list(names)
    random.Random(seed).shuffle(order)  # noqa: S311
    groups = [tuple(order[begin : begin + size]) for begin in range(0, len(order), size)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return tuple(groups)
