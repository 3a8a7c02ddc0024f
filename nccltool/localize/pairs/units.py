"""Who meets: nodes with all of their ranks, or single ranks within each node. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.launch.events import RankFacts
from nccltool.launch.job import node_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """What meets others: a node, or a rank within its node."""

    name: str
    node: int
    """Its place among the nodes."""
    ranks: tuple[int, ...]


def of_nodes(ranks: Sequence[RankFacts]) -> tuple[Unit, ...]:
    """The nodes, by the ranks in their order. A node has the name of its host where no other node has it."""
    homes = [facts.node_rank if facts.node_rank >= 0 else facts.host_id for facts in ranks]
    nodes = list(dict.fromkeys(homes))
    hosts = [ranks[homes.index(node)].host for node in nodes]
    return tuple(
        Unit(
            name=name,
            node=number,
            ranks=tuple(facts.rank for facts, home in zip(ranks, homes, strict=True) if home == nodes[number]),
        )
        for number, name in enumerate(names_of(hosts))
    )


def names_of(hosts: Sequence[str]) -> tuple[str, ...]:
    """A name for each node, no two alike."""
    counts = Counter(hosts)
    return tuple(host if counts[host] == 1 else node_name(number) for number, host in enumerate(hosts))


def within(nodes: Sequence[Unit]) -> tuple[Unit, ...]:
    """Each rank of each node, as `n1/0`."""
    return tuple(
        Unit(name=f"{node.name}/{place}", node=node.node, ranks=(rank,))
        for node in nodes
        for place, rank in enumerate(node.ranks)
    )
