"""Findings about nodes that met: who is slow, what cannot be told."""

from nccltool.core.findings import define

NODE_SLOW = define("node-slow", "answer", root_causes=("slow-path",), page="findings-pairs.md")
NODE_ABSENT = define("node-absent", "answer", page="findings-pairs.md")
RAIL_SLOW = define("rail-slow", "answer", root_causes=("slow-path",), page="findings-pairs.md")
LINK_SLOW = define("link-slow", "answer", root_causes=("slow-path",), page="findings-pairs.md")
GROUP_SLOW = define("group-slow", "answer", page="findings-pairs.md", suspects=())
FABRIC_WIDE = define("fabric-wide", "answer", page="findings-pairs.md", suspects=())
PAIRS_UNDETERMINED = define("pairs-undetermined", "answer", page="findings-pairs.md", suspects=())
PAIRS_NOT_MEASURED = define("pairs-not-measured", "note", "warning", page="findings-pairs.md")
NODES_NOT_MEASURED = define("nodes-not-measured", "unknown", "warning", page="findings-pairs.md", suspects=())
PAIRS_LEFT_OUT = define("pairs-left-out", "note", "info", "warning", page="findings-pairs.md")
PAIRS_TOO_FEW = define("pairs-too-few", "unknown", "warning", page="findings-pairs.md", suspects=())
