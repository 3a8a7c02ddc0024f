"""Who meets: nodes with all of their ranks, or single ranks within each node. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nccltool.launch.events import RankFacts
from nccltool.localize.pairs.job import PairSpec
from nccltool.localize.within import name_of


@dataclass(frozen=True, kw_only=True, slots=True)
class MeetingUnit:
    """What meets others: a node, or a rank within its node."""

    name: str
    node: int
    """Its place among the nodes."""
    ranks: tuple[int, ...]


def of_nodes(ranks: Sequence[RankFacts]) -> tuple[MeetingUnit, ...]:
    """The nodes, by the ranks in their order. A node has the name of its host where no other node has it."""
    homes = [facts.node_rank if facts.node_rank >= 0 else facts.host_id for facts in ranks]
    nodes = list(dict.fromkeys(homes))
    hosts = [ranks[homes.index(node)].host for node in nodes]
    return tuple(
        MeetingUnit(
            name=name,
            node=number,
            ranks=tuple(facts.rank for facts, home in zip(ranks, homes, strict=True) if home == nodes[number]),
        )
        for number, name in enumerate(names_of(hosts))
    )


def names_of(hosts: Sequence[str]) -> tuple[str, ...]:
    """A name for each node, no two alike: emulated nodes of one host are `n1:0`, `n1:1`, and so on."""
    counts = Counter(hosts)
    return tuple(host if counts[host] == 1 else f"{host}:{number}" for number, host in enumerate(hosts))


def meeting(nodes: Sequence[MeetingUnit], spec: PairSpec) -> tuple[MeetingUnit, ...]:
    """What meets in a measurement."""
    if spec.is_within:
        return within(nodes)
    return alike(nodes) if spec.op == "send_recv" else tuple(nodes)


def alike(nodes: Sequence[MeetingUnit]) -> tuple[MeetingUnit, ...]:
    """The same number of ranks of each node: every rank has one on the other node that it sends to."""
    fewest = min(len(node.ranks) for node in nodes)
    return tuple(replace(node, ranks=node.ranks[:fewest]) for node in nodes)


def within(nodes: Sequence[MeetingUnit]) -> tuple[MeetingUnit, ...]:
    """Each rank of each node, as `n1/0`."""
    return tuple(
        MeetingUnit(name=name_of(node.name, place), node=node.node, ranks=(rank,))
        for node in nodes
        for place, rank in enumerate(node.ranks)
    )
