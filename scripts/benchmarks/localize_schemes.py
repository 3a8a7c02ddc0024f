"""How others find slow nodes, written from the description of each; they are told the healthy bandwidth.

A pair is slow below 0.87 of it, as in their defaults. Each returns the nodes that it accuses.
"""

import statistics
from collections.abc import Callable, Sequence

from benchmarks.localize_fabric import Fabric

SLOW = 0.87
Scheme = Callable[[Fabric], frozenset[str]]
Pair = tuple[str, str]


def two_pass(fabric: Fabric) -> frozenset[str]:
    """Random pairs; the nodes of slow ones again, each with a node that passed."""
    pairs = _random_pairs(fabric)
    ratios = fabric.ratio(pairs)
    passed = [name for pair, ratio in zip(pairs, ratios, strict=True) if ratio >= SLOW for name in pair]
    suspects = [name for pair, ratio in zip(pairs, ratios, strict=True) if ratio < SLOW for name in pair]
    return _confirmed(fabric, suspects, passed)


def two_rounds(fabric: Fabric) -> frozenset[str]:
    """Neighbors, then the fastest with the slowest; accused: both times over twice the median time."""
    first = [*zip(fabric.names[::2], fabric.names[1::2], strict=True)]
    ratios = dict(_of_nodes(first, fabric.ratio(first)))
    order = sorted(fabric.names, key=lambda name: ratios[name])
    second = [(order[number], order[-1 - number]) for number in range(len(order) // 2)]
    again = dict(_of_nodes(second, fabric.ratio(second)))
    best = {name: max(ratios[name], again[name]) for name in fabric.names}
    bar = statistics.median(best.values()) / 2
    return frozenset(name for name, ratio in best.items() if ratio < bar)


def best_of_three(fabric: Fabric) -> frozenset[str]:
    """Three rounds of random pairs; accused: slow in all of them."""
    return _slow_in(fabric, rounds=3, most_good=0)


def fifteen_random(fabric: Fabric) -> frozenset[str]:
    """Fifteen rounds of random pairs; accused: fewer than half of them good."""
    return _slow_in(fabric, rounds=15, most_good=7)


def star(fabric: Fabric) -> frozenset[str]:
    """The first node with each of the others, one after the other."""
    pairs = [(fabric.names[0], name) for name in fabric.names[1:]]
    return frozenset(pair[1] for pair in pairs if fabric.ratio([pair])[0] < SLOW)


def trusted_reference(fabric: Fabric) -> frozenset[str]:
    """The same, and the slow ones once more with the same reference, which nobody tests."""
    return frozenset(name for name in sorted(star(fabric)) if fabric.ratio([(fabric.names[0], name)])[0] < SLOW)


def bisection(fabric: Fabric) -> frozenset[str]:
    """Groups of eight; slow ones in halves; the pairs that remain, each node with one of a group that passed."""
    order = fabric.chance.sample(fabric.names, len(fabric.names))
    slow = [order[begin : begin + 8] for begin in range(0, len(order), 8)]
    passed: list[str] = []
    while slow:
        ratios = fabric.ratio(slow)
        passed += [name for group, ratio in zip(slow, ratios, strict=True) if ratio >= SLOW for name in group]
        slow = [group for group, ratio in zip(slow, ratios, strict=True) if ratio < SLOW]
        if all(len(group) <= 2 for group in slow):
            break
        slow = [half for group in slow for half in (group[: len(group) // 2], group[len(group) // 2 :])]
    return _confirmed(fabric, [name for group in slow for name in group], passed)


SCHEMES: dict[str, Scheme] = {
    "two-pass": two_pass,
    "two rounds": two_rounds,
    "best of 3": best_of_three,
    "15 random": fifteen_random,
    "star": star,
    "trusted": trusted_reference,
    "bisection": bisection,
}


def _confirmed(fabric: Fabric, suspects: Sequence[str], passed: Sequence[str]) -> frozenset[str]:
    """Those that are slow with a node that passed; all of them if none did."""
    if not passed:
        return frozenset(suspects)
    accused: set[str] = set()
    for begin in range(0, len(suspects), len(passed)):
        pairs = [*zip(suspects[begin:], passed, strict=False)]
        accused |= {pair[0] for pair, ratio in zip(pairs, fabric.ratio(pairs), strict=True) if ratio < SLOW}
    return frozenset(accused)


def _slow_in(fabric: Fabric, rounds: int, most_good: int) -> frozenset[str]:
    good = dict.fromkeys(fabric.names, 0)
    for _ in range(rounds):
        pairs = _random_pairs(fabric)
        for name, ratio in _of_nodes(pairs, fabric.ratio(pairs)):
            good[name] += ratio >= SLOW
    return frozenset(name for name, count in good.items() if count <= most_good)


def _of_nodes(pairs: Sequence[Pair], ratios: Sequence[float]) -> list[tuple[str, float]]:
    return [(name, ratio) for pair, ratio in zip(pairs, ratios, strict=True) for name in pair]


def _random_pairs(fabric: Fabric) -> list[Pair]:
    order = fabric.chance.sample(fabric.names, len(fabric.names))
    return [*zip(order[::2], order[1::2], strict=True)]
