"""Pairs of hosts between which something failed, and the hosts that have this in common. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

_ENOUGH = 2
"""Partners with which a host must fail before it is named: of a single pair, nobody knows which host it is."""


def blamed(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """(hosts that fail with two partners or more, the worst first; the pairs that this does not explain)."""
    left = list(dict.fromkeys(pairs))
    culprits: list[str] = []
    while left:
        partners = defaultdict[str, set[str]](set)
        for a, b in left:
            partners[a].add(b)
            partners[b].add(a)
        worst = [name for name, others in partners.items() if _stands_out(len(others), others, partners)]
        if not worst:
            break
        culprits += sorted(worst, key=lambda name: (-len(partners[name]), name))
        left = [pair for pair in left if not set(worst) & set(pair)]
    return tuple(culprits), tuple(left)


def _stands_out(count: int, others: Iterable[str], partners: Mapping[str, set[str]]) -> bool:
    """A host that fails with several others, each of which fails with fewer: of two alike, nobody knows which."""
    return count >= _ENOUGH and all(len(partners[other]) < count for other in others)
