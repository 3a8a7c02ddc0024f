"""Slurm's topology.yaml: topologies, each with its switches or its blocks. The cluster's default one counts."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nccltool.core.text import escaped, shortened
from nccltool.localize.topologies.base import refuse, unfolded
from nccltool.localize.topology import Topology

_MARK = re.compile(r"^[ \t]*-[ \t]+[\"']?topology[\"']?\s*:", re.MULTILINE)
_LARGEST = 4 << 20
"""Characters: a tree of 100,000 nodes has some 2 MiB if no name is folded, and PyYAML reads 1 MiB in seconds."""
_KINDS = (("tree", "switches", "switch"), ("block", "blocks", "block"))
_REMEDY = "pass the topology.yaml of the cluster, or write lines of NODE LEAF"


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str) -> Topology:
    """The nodes with their leaf switches, or their blocks. Raises BadInput that names the switch."""
    every = _parsed(content, where)
    every = sorted(every, key=lambda each: each.get("cluster_default") is not True)
    leaf_of = next((found for one in every if (found := _leaves(one, where))), None)
    if leaf_of is None:
        refuse(where, "no switch has nodes", _REMEDY)
    return Topology(leaf_of=leaf_of)


def _parsed(content: str, where: str) -> Sequence[dict[str, Any]]:
    import yaml

    if len(content) > _LARGEST:
        refuse(where, "the file is too large for a topology", "fold the names of nodes: n[01-16]")
    try:
        found = yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        refuse(f"{where}{line}", f"not YAML: {getattr(error, 'problem', None) or 'it cannot be read'}", _REMEDY)
    except (RecursionError, ValueError):
        refuse(where, "not YAML that can be read", _REMEDY)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        refuse(where, "it is not a list of topologies", _REMEDY)
    return found


def _leaves(one: dict[str, Any], where: str) -> dict[str, str]:
    leaf_of: dict[str, str] = {}
    for leaf, folded in _switches(one, where):
        place = f"{where}, {shortened(escaped(leaf), 60)}"
        if not isinstance(folded, str):
            refuse(place, "its nodes are no text", "write a list such as n[01-16]")
        for node in unfolded(folded, place):
            if leaf_of.setdefault(node, leaf) != leaf:
                refuse(place, f"{node} is also on {leaf_of[node]}", "list each node under one switch")
    return leaf_of


def _switches(one: dict[str, Any], where: str) -> Iterator[tuple[str, object]]:
    """Those that have nodes, and these."""
    for kind, many, single in _KINDS:
        content = one.get(kind)
        rows = content.get(many) if isinstance(content, dict) else None
        if content is not None and not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            refuse(where, f"{kind} has no list of {many}", _REMEDY)
        for row in rows or ():
            if row.get("nodes") is not None:
                yield str(row.get(single)), row["nodes"]
