"""Faults of several kinds at the same time, on fabrics of any size, drawn at random: is an innocent named?"""

import random
from collections.abc import Collection

from benchmarks.localize_fabric import Case, Fabric

Name = tuple[str, str, tuple[str, ...]]
_SIZES = (3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 24, 31, 33, 48, 64, 96)
_FEWEST_WITH_LINKS, _MOST_OF_ALL_PAIRS, _FEWEST_WITH_LEAVES = 4, 33, 48


def mixed(seed: int) -> Case:
    """A few faults of random kinds and speeds, noise, and the way to measure.

    At most half of the nodes are bad, and an uplink only where the leaf switches are known.
    """
    chance = random.Random(f"mixed/{seed}")
    nodes = chance.choice(_SIZES)
    has_rails = chance.random() < 0.25 and nodes >= _FEWEST_WITH_LINKS
    size = min(2 if has_rails else chance.choice((2, 2, 2, 2, 3, 4, 5)), nodes - 1)
    bad = min(chance.choice((0, 0, 1, 1, 2, 3, 4)), (nodes - 1) // 4)
    dead = min(chance.choice((0, 0, 0, 1, 2)), (nodes - bad - 1) // 4)
    is_known = chance.random() < 0.5
    has_links = nodes - bad - dead >= _FEWEST_WITH_LINKS
    return Case(
        name=f"mixed {seed}",
        nodes=nodes,
        bad=bad,
        dead=dead,
        speed=0.75,
        least_speed=0.3,
        share=chance.choice((1, 1, 1, 0.5)),
        way=chance.choice(("both", "both", "both", "send", "receive")) if size == 2 else "both",
        noise=chance.choice((0.01, 0.03, 0.06)),
        is_heavy=chance.random() < 0.15,
        is_one_sided=chance.random() < 0.15,
        missing=chance.choice((0, 0, 0.02, 0.05)),
        bad_links=chance.choice((0, 0, 1, 2)) if has_links else 0,
        bad_rails=chance.choice((1, 1, 2)) if has_rails else 0,
        bad_uplinks=chance.choice((0, 1)) if nodes >= _FEWEST_WITH_LEAVES and size == 2 and is_known else 0,
        is_topology_known=is_known,
        group_size=size,
        bad_groups=chance.choice((0, 0, 1)) if size > 2 else 0,
        is_all_pairs=size == 2 and nodes <= _MOST_OF_ALL_PAIRS and chance.random() < 0.3,
        most_rounds=chance.choice((6, 8, 12)),
        is_expected=chance.random() < 0.15,
    )


def innocent(fabric: Fabric, found: Collection[Name], truth: Collection[Name]) -> set[Name]:
    """Those of the named that have no fault.

    A node that is named for its slow rail is not among them, nor is a link of a slow node.
    """
    faulty = {*fabric.bad, *fabric.dead, *(node for node, _ in fabric.rails)}
    links = {frozenset(link) for link in fabric.links}
    return {
        name for name in found if name not in truth and not faulty & {*name[2]} and frozenset(name[2]) not in links
    }
