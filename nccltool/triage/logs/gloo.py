"""Gloo's lines."""

from nccltool.triage.logs.base import each, echo, failure, state

PATTERNS = (
    echo(
        "gloo.peer-closed", "Connection closed by peer", r"closed by peer \[?(?P<peer>[\w.:]+?)\]?:(?P<port>\d+)"
    ),
    echo("gloo.peer-closed", "Read error [", r"Read error \[(?P<peer>[\w.:]+)\]:\d+: (?P<error>[\w ]+)"),
    echo("gloo.peer-closed", "Application timeout caused pair closure"),
    echo("gloo.timeout", "ms for ", r"Timed out waiting (?P<limit>\d+)ms for (?P<what>recv|send) operation"),
    *(
        failure(
            "gloo.connect-failed",
            words,
            rf"(?:{words}).*?(?:SO_ERROR: (?P<error>[\w ]+))?(?:.*?remote=\[(?P<peer>[\w.:]+)\])",
        )
        for words in ("connectFullMesh", "timed out connecting", "failed to connect", "connect failed")
    ),
    failure("gloo.connect-failed", "connect [", r"\bconnect \[(?P<peer>[\w.:]+)\]:\d+: (?P<error>[A-Z][\w ]+)"),
    failure("gloo.connect-failed", "connectFullMesh failed", r"connectFullMesh failed(?!.*remote=)"),
    failure(
        "gloo.connect-failed",
        "connect() to ",
        r"connect\(\) to (?P<peer>[\w.:]+)(?: port \d+)? failed: (?P<error>[\w ]+)",
    ),
    failure("gloo.no-interface", "Unable to find address for", r"find address for: (?P<interface>\S+)"),
    failure("gloo.no-interface", "ifa != nullptr"),
    failure("gloo.no-interface", "Unable to find interface for", r"find interface for: (?P<interface>\S+)"),
    failure("gloo.no-device", "unsupported gloo device"),
    failure("gloo.unresolved", "Unable to resolve hostname to a (local) address"),
    failure(
        "gloo.size-mismatch", "op.preamble.length <= op.nbytes", r"op\.nbytes\. (?P<got>\d+) vs (?P<want>\d+)"
    ),
    *each(failure, "gloo.size-mismatch", "distributed collective mismatch", "invalid tensor size at index"),
    state("gloo.connected", "is connected to", r"Rank (?P<rank>\d+) is connected to (?P<count>\d+) peer ranks"),
)
