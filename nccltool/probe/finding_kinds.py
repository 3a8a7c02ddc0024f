"""Findings about operations: whether they can be run, their data, their numbers."""

from nccltool.core.findings import define

UNSUPPORTED = define("unsupported", "incomplete", may_be_the_order=True)
WRONG_DATA = define("wrong-data", "answer", root_causes=("data-corruption",))
BUSBW_LOW = define("busbw-low", "answer", root_causes=("slow-path",))
BUSBW_UNKNOWN = define("busbw-unknown", "unknown", "warning")
DIP = define("dip", "note", "info")
LEFT_OUT = define("left-out", "note", "info")
LATE_RANK = define("late-rank", "answer", "error", "warning", root_causes=("straggler-timeout",))
