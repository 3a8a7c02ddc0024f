"""Rounds in which everyone meets someone new: over a random order, or by leaf switch where it is known."""

import random
from collections.abc import Sequence
from itertools import zip_longest

from nccltool.localize.schedule import circle
from nccltool.localize.topology import Topology

Round = tuple[tuple[str, ...], ...]
_TRIES = 8


def shuffled(nodes: Sequence[str], seed: int) -> list[str]:
    """The same for the same names and seed."""
    names = sorted({*nodes})
    random.Random(seed).shuffle(names)  # noqa: S311
    return names


def of_pairs(names: Sequence[str], number: int, topology: Topology, met: set[frozenset[str]], seed: int) -> Round:
    """Disjoint pairs; where leaf switches are known, across them and within them by turns."""
    leaves = _leaves(names, topology)
    if len(leaves) < 2 or max(map(len, leaves)) < 2:
        return circle.pairs(names, number)
    chosen = _across if number % 2 == 0 else _within
    tries = (chosen(leaves, random.Random(f"{seed}/{number}/{each}")) for each in range(_TRIES))  # noqa: S311
    return min(tries, key=lambda pairs: sum(frozenset(pair) in met for pair in pairs))


def of_groups(names: Sequence[str], size: int, number: int, seed: int) -> Round:
    """Disjoint groups; what is left over is one of its own. A single node joins the last one, or sits out where
    there would be the same group of all in each round."""
    order = shuffled(names, seed * 1000 + number)
    groups = [tuple(order[begin : begin + size]) for begin in range(0, len(order), size)]
    if len(groups) > 1 and len(groups[-1]) < 2:
        groups[-2:] = [groups[-2] + groups[-1]] if len(groups) > 2 else [groups[0]]
    return tuple(groups)


def _leaves(names: Sequence[str], topology: Topology) -> list[list[str]]:
    """The nodes of each leaf switch; those of unknown leaf count as one."""
    found: dict[str | None, list[str]] = {}
    for name in names:
        found.setdefault(topology.leaf(name), []).append(name)
    return [*found.values()]


def _across(leaves: Sequence[Sequence[str]], chance: random.Random) -> Round:
    """Half a turn apart in an order by leaf: of one leaf only where it has more than half of the nodes."""
    blocks = [chance.sample(leaf, len(leaf)) for leaf in leaves]
    chance.shuffle(blocks)
    order = [name for block in blocks for name in block]
    half = len(order) // 2
    return tuple(zip(order[:half], order[half : 2 * half], strict=True))


def _within(leaves: Sequence[Sequence[str]], chance: random.Random) -> Round:
    pairs: list[tuple[str, ...]] = []
    left = []
    for leaf in leaves:
        order = chance.sample(leaf, len(leaf))
        pairs += zip(order[::2], order[1::2], strict=False)
        left += order[len(order) - len(order) % 2 :]
    chance.shuffle(left)
    pairs += [pair for pair in zip_longest(left[::2], left[1::2]) if None not in pair]
    return tuple(pairs)
