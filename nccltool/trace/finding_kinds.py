"""Findings about traces: whom ranks wait for, where steps lose time, and what could not be read."""

from nccltool.core.findings import define

TRACE_LATE_RANK = define("trace-late-rank", "note", "warning", page="findings-jobs.md", suspects=("warning",))
TRACE_INPUT = define("trace-input", "note", "warning", page="findings-jobs.md", suspects=())
TRACE_LAUNCH = define("trace-launch", "note", "warning", page="findings-jobs.md", suspects=())
TRACE_EXPOSED = define("trace-exposed", "note", "warning", page="findings-jobs.md", suspects=())
TRACE_DAMAGED = define("trace-damaged", "note", "warning", page="findings-jobs.md", suspects=())
TRACE_UNMATCHED = define("trace-unmatched", "note", "info", page="findings-jobs.md", suspects=())
TRACE_UNCLEAR = define("trace-unclear", "unknown", "warning", page="findings-jobs.md", suspects=())
