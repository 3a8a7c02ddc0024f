"""Which leaf switch each node hangs on, and which rails it has; empty if nobody said. Frozen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from nccltool.core.host_lists import rack_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """What is known about the network between nodes. A node that is not in it has an unknown leaf."""

    leaf_of: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Node to the name of its leaf switch."""
    rails_of: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Node to the names of its rails."""

    is_by_name: bool = False
    """The user asked to take the racks in the names of nodes for leaf switches."""

    home_of: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Of ranks that are measured within their nodes: rank to node. Ranks of different nodes never meet."""

    def of(self, nodes: Iterable[str]) -> "Topology":
        """What is known once the nodes are: their racks, where these were asked for."""
        if not self.is_by_name:
            return self
        return replace(self, leaf_of={node: rack for node in nodes if (rack := rack_in(node))})

    def can_meet(self, one: str, other: str) -> bool:
        """Whether these can be measured together."""
        return self.home_of.get(one) == self.home_of.get(other)

    def leaf(self, node: str) -> str | None:
        """The leaf switch of a node, which may be listed without its domain; None: unknown."""
        return self.leaf_of.get(node) or self.leaf_of.get(node.partition(".")[0])

    def rails(self, node: str) -> tuple[str, ...]:
        """The rails of a node; empty: unknown."""
        return self.rails_of.get(node, ())

    def leaves(self) -> dict[str, tuple[str, ...]]:
        """Each leaf switch with its nodes, in the order in which they were given."""
        found: dict[str, list[str]] = {}
        for node, leaf in self.leaf_of.items():
            found.setdefault(leaf, []).append(node)
        return {leaf: tuple(nodes) for leaf, nodes in found.items()}

    def is_across(self, one: str, other: str) -> bool | None:
        """Whether traffic between two nodes leaves their leaf switch; None: unknown."""
        here, there = self.leaf(one), self.leaf(other)
        return None if here is None or there is None else here != there
