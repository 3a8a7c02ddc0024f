"""Lines of `NODE LEAF`, folded as in `n[01-16] leaf1`; a third word lists rails: `n1 leaf1 mlx5_0,mlx5_1`."""

from nccltool.core.text import shortened
from nccltool.localize.topologies.base import refuse, unfolded
from nccltool.localize.topology import Topology

_REMEDY = "write a line for each node: NODE LEAF"


def recognises(content: str) -> bool:
    return bool(content.strip())


def read(content: str, where: str) -> Topology:
    """The nodes with their leaf switches. Raises BadInput that names the line."""
    leaf_of: dict[str, str] = {}
    rails_of: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        place = f"{where}, line {number}"
        if not 2 <= len(words) <= 3:
            refuse(place, f"expected NODE LEAF, found {shortened(line.strip(), 60)!r}", _REMEDY)
        for node in unfolded(words[0], place):
            if leaf_of.setdefault(node, words[1]) != words[1]:
                refuse(place, f"{node} is on {leaf_of[node]} and on {words[1]}", "list each node once")
            if len(words) > 2:
                rails_of[node] = tuple(filter(None, words[2].split(",")))
    if not leaf_of:
        refuse(where, "it names no node", _REMEDY)
    return Topology(leaf_of=leaf_of, rails_of=rails_of)
