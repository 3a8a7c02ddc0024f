"""Slurm's topology.conf: `SwitchName=leaf1 Nodes=n[01-16]`; switches of switches have no nodes of their own."""

import re

from nccltool.localize.topologies.base import refuse, unfolded
from nccltool.localize.topology import Topology

_MARK = re.compile(r"^[ \t]*(SwitchName|BlockName)\s*=", re.IGNORECASE | re.MULTILINE)
_PAIR = re.compile(r"\b(\w++)\s*+=\s*+(\S+)")
_GOES_ON = re.compile(r"\\\n[ \t]*")
_COMMENT = re.compile(r"(?<!\\)#.*")


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str) -> Topology:
    """The nodes with their leaf switches, or their blocks. Raises BadInput that names the line."""
    leaf_of: dict[str, str] = {}
    for number, line in enumerate(_GOES_ON.sub("", content).splitlines(), start=1):
        given = {name.casefold(): value for name, value in _PAIR.findall(_COMMENT.sub("", line))}
        leaf = given.get("switchname") or given.get("blockname")
        if leaf is None or "nodes" not in given:
            continue
        for node in unfolded(given["nodes"], f"{where}, line {number}"):
            if leaf_of.setdefault(node, leaf) != leaf:
                remedy = "list each node under one switch"
                refuse(f"{where}, line {number}", f"{node} is on {leaf_of[node]} and on {leaf}", remedy)
    if not leaf_of:
        refuse(where, "no switch has nodes", "pass the topology.conf of the cluster")
    return Topology(leaf_of=leaf_of)
