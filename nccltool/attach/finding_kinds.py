"""Findings about a job that runs: whether it moves, and what could not be told."""

from nccltool.core.findings import define

JOB_HUNG = define("job-hung", "answer", "error", "warning", "info", page="findings-jobs.md")
JOB_SLOW = define("job-slow", "note", "warning", page="findings-jobs.md", suspects=())
JOB_UNCLEAR = define("job-unclear", "unknown", "warning", page="findings-jobs.md", suspects=())
NOT_LOOKED_AT = define("not-looked-at", "note", "warning", page="findings-jobs.md", suspects=())
