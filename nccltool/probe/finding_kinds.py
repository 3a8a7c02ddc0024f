"""Findings about operations: whether they can be run, their data, their numbers."""

from nccltool.core.findings import define

UNSUPPORTED = define("unsupported", "incomplete", may_be_the_order=True, page="findings-hosts.md")
SPLIT_IMPOSSIBLE = define("split-impossible", "incomplete", may_be_the_order=True, page="findings-pairs.md")
WRONG_DATA = define("wrong-data", "answer", root_causes=("data-corruption",), page="findings-results.md")
BUSBW_LOW = define("busbw-low", "answer", root_causes=("slow-path",), is_symptom=True, page="findings-results.md")
BUSBW_UNKNOWN = define("busbw-unknown", "unknown", "warning", page="findings-results.md")
DIP = define("dip", "note", "info", page="findings-results.md")
LEFT_OUT = define("left-out", "note", "info", page="findings-results.md")
LATE_RANK = define(
    "late-rank",
    "answer",
    "error",
    "warning",
    root_causes=("straggler-timeout",),
    page="findings-results.md",
    suspects=("error", "warning"),
)
