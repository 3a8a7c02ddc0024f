"""Ranks that were measured inside their nodes: their names, and what suspects among them are. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace

from nccltool.localize.result import Localization, Suspect, SuspectKind
from nccltool.localize.topology import Topology

_KINDS: dict[SuspectKind, SuspectKind] = {"node": "rank", "link": "rank-link"}

_NODES = re.compile(r"\bnode(s?)\b")


def name_of(node: str, place: int) -> str:
    """`n1/0`: the first rank of n1."""
    return f"{node}/{place}"


def home_of(name: str) -> str:
    """The node of a rank."""
    return name.rpartition("/")[0] or name


def topology_of(names: Iterable[str]) -> Topology:
    """Ranks of different nodes never meet."""
    return Topology(home_of={name: home_of(name) for name in names})


def who(is_within: bool) -> str:
    """What met."""
    return "rank" if is_within else "node"


def told(found: Localization) -> Localization:
    """The judge knows only who met; here it was ranks, and what is between them is inside a node."""
    reason = _NODES.sub(r"rank\1", found.reason)
    return replace(found, suspects=tuple(map(_told, found.suspects)), reason=reason)


def _told(suspect: Suspect) -> Suspect:
    return replace(suspect, kind=_KINDS.get(suspect.kind, suspect.kind))
