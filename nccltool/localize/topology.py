"""Which leaf switch each node hangs on, and which rails it has; empty if nobody said. Frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """What is known about the network between nodes. A node that is not in it has an unknown leaf."""

    leaf_of: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Node to the name of its leaf switch."""
    rails_of: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Node to the names of its rails."""

    home_of: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Of ranks that are measured within their nodes: rank to node. Ranks of different nodes never meet."""

    def can_meet(self, one: str, other: str) -> bool:
        """Whether these can be measured together."""
        return self.home_of.get(one) == self.home_of.get(other)

    def leaf(self, node: str) -> str | None:
        """The leaf switch of a node; None: unknown."""
        return self.leaf_of.get(node)

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
