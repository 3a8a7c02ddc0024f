"""Gloo's lines."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    gloo.connect-failed  `connectFullMesh|timed out connecting|failed to connect|connect failed`.*?
                         (?:SO_ERROR: (?P<error>[\w ]+))?(?:.*?remote=\[(?P<peer>[\w.:]+)\])
    gloo.connect-failed  \b`connect [`(?P<peer>[\w.:]+)\]:\d+: (?P<error>[A-Z][\w ]+)
    gloo.connect-failed  `Connect timeout [`(?P<peer>[\w.:]+)\]
    gloo.connect-failed  `connectFullMesh failed`(?!.*remote=)
    gloo.no-mesh         `connectFullMesh failed`.*\bno error
    ib.refused           `gloo/transport/ibverbs`.*wc->status
    gloo.connect-failed  `connect() to `(?P<peer>[\w.:]+)(?: port \d+)? failed: (?P<error>[\w ]+)
    gloo.no-interface    `Unable to find address for` => find address for: (?P<interface>\S+)
    gloo.no-interface    `ifa != nullptr`
    gloo.no-interface    `Unable to find interface for` => find interface for: (?P<interface>\S+)
    gloo.no-device       `unsupported gloo device`
    gloo.size-mismatch   `op.preamble.length <= op.nbytes` => op\.nbytes\. (?P<got>\d+) vs (?P<want>\d+)
    gloo.size-mismatch   `distributed collective mismatch|invalid tensor size at index`
echo
    gloo.peer-closed     `Connection closed by peer` => closed by peer \[?(?P<peer>[\w.:]+?)\]?:(?P<port>\d+)
    gloo.peer-closed     `Read error [`(?P<peer>[\w.:]+)\]:\d+: (?P<error>[\w ]+)
    gloo.peer-closed     `gloo/transport/tcp/` => (?:Broken pipe|Connection reset by peer)
    gloo.peer-closed     `Application timeout caused pair closure`
    gloo.peer-closed     `originated at tensorpipe` => (?i)eof|reset|closed|broken|aborted
    gloo.timeout         Timed out waiting (?P<limit>\d+)`ms for `(?P<what>recv|send) operation
doubt
    gloo.unresolved      `Unable to resolve hostname to a (local) address`
    gloo.unresolved      `defaulting to 127.0.0.1` => look up the IP address for the hostname
state
    gloo.connected       Rank (?P<rank>\d+) `is connected to` (?P<count>\d+) peer ranks
""")
