"""Gloo's lines."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

PATTERNS = (
    pattern(
        "gloo.peer-closed",
        "echo",
        "Connection closed by peer",
        r"closed by peer \[?(?P<peer>[\w.:]+?)\]?:(?P<port>\d+)",
    ),
    pattern(
        "gloo.peer-closed", "echo", "Read error [", r"Read error \[(?P<peer>[\w.:]+)\]:\d+: (?P<error>[\w ]+)"
    ),
    pattern("gloo.peer-closed", "echo", "Application timeout caused pair closure"),
    pattern(
        "gloo.timeout", "echo", "ms for ", r"Timed out waiting (?P<limit>\d+)ms for (?P<what>recv|send) operation"
    ),
    *(
        pattern(
            "gloo.connect-failed",
            "failure",
            words,
            rf"(?:{words}).*?(?:SO_ERROR: (?P<error>[\w ]+))?(?:.*?remote=\[(?P<peer>[\w.:]+)\])",
        )
        for words in ("connectFullMesh", "timed out connecting", "failed to connect", "connect failed")
    ),
    pattern(
        "gloo.connect-failed",
        "failure",
        "connect [",
        r"\bconnect \[(?P<peer>[\w.:]+)\]:\d+: (?P<error>[A-Z][\w ]+)",
    ),
    pattern("gloo.connect-failed", "failure", "connectFullMesh failed", r"connectFullMesh failed(?!.*remote=)"),
    pattern(
        "gloo.connect-failed",
        "failure",
        "connect() to ",
        r"connect\(\) to (?P<peer>[\w.:]+)(?: port \d+)? failed: (?P<error>[\w ]+)",
    ),
    pattern("gloo.no-interface", "failure", "Unable to find address for", r"find address for: (?P<interface>\S+)"),
    pattern("gloo.no-interface", "failure", "ifa != nullptr"),
    pattern(
        "gloo.no-interface", "failure", "Unable to find interface for", r"find interface for: (?P<interface>\S+)"
    ),
    pattern("gloo.no-device", "failure", "unsupported gloo device"),
    pattern("gloo.unresolved", "failure", "Unable to resolve hostname to a (local) address"),
    pattern(
        "gloo.size-mismatch",
        "failure",
        "op.preamble.length <= op.nbytes",
        r"op\.nbytes\. (?P<got>\d+) vs (?P<want>\d+)",
    ),
    pattern("gloo.size-mismatch", "failure", "distributed collective mismatch"),
    pattern("gloo.size-mismatch", "failure", "invalid tensor size at index"),
    pattern(
        "gloo.connected",
        "state",
        "is connected to",
        r"Rank (?P<rank>\d+) is connected to (?P<count>\d+) peer ranks",
    ),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What Gloo says in a line."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields)
