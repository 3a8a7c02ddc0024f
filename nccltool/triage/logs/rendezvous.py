"""TCPStore and rendezvous: how ranks find one another."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

_PORT = r"(?:.*?port: ?(?P<port>\d+)|.*?\]:(?P<bound>\d+))?"

PATTERNS = (
    pattern(
        "store.in-use",
        "failure",
        "ddress already in use",
        r"^(?:.*(?:port: ?|\]:|\*:|0:)(?P<port>\d{2,5})\b(?!:))?.*[Aa]ddress already in use",
    ),
    pattern("store.in-use", "failure", "EADDRINUSE", r"^(?!.*ddress already in use)" + _PORT),
    pattern(
        "store.in-use",
        "failure",
        "failed to listen on any local network address",
        r"^(?!.*(?:ddress already|EADDRINUSE))" + _PORT,
    ),
    pattern("store.unresolved", "failure", "host not found", r"host not found"),
    pattern("store.unresolved", "failure", "name resolution", r"(?:gaierror|Error|error).*name resolution"),
    pattern(
        "store.unresolved",
        "failure",
        "Name or service not known",
        r"^(?!.*\bgai error).*Name or service not known",
    ),
    pattern("store.unresolved", "failure", "Could not resolve host"),
    pattern(
        "store.lookup-retry", "doubt", "gai error", r"\((?P<host>[\w.-]+), (?P<port>\d+)\) cannot be retrieved"
    ),
    pattern(
        "store.retry",
        "doubt",
        "client socket has failed to connect",
        r"failed to connect to \[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+) \(errno: (?P<errno>\d+) - (?P<error"
        r">[\w ]+)",
    ),
    pattern("store.no-hostname", "doubt", "hostname of the client socket cannot be retrieved"),
    pattern(
        "store.timeout",
        "failure",
        "client socket has timed out",
        r"timed out after (?P<limit>\w+) while trying to connect to \(?(?P<host>[\w.:-]+?)[,:] ?(?P<port>\d+)\)?",
    ),
    pattern(
        "store.too-few",
        "failure",
        "clients joined",
        r"(?:Timed out after (?P<limit>\d+) seconds waiting for clients\. )?(?P<joined>\d+)/(?P<expected>"
        r"\d+) clients joined",
    ),
    pattern(
        "store.too-few",
        "failure",
        "store based barrier",
        r"Timed out .*store based barrier.*world_size=(?P<expected>\d+), worker_count=(?P<joined>\d+)",
    ),
    pattern("store.timeout", "failure", "connect() timed out", r"connect\(\) timed out\. Original timeout"),
    pattern(
        "store.no-environment",
        "failure",
        "expected, but not set",
        r"environment variable (?P<name>[A-Z_]+) expected, but not set",
    ),
    pattern("store.no-environment", "failure", "No rendezvous handler for"),
    pattern("store.too-few", "failure", " nodes joined", r"(?P<joined>\d+) of (?P<expected>\d+) nodes joined"),
    pattern(
        "store.rendezvous",
        "failure",
        "RendezvousTimeoutError",
        r"^\S*RendezvousTimeoutError|RendezvousTimeoutError",
    ),
    pattern("store.rendezvous", "failure", "RendezvousConnectionError"),
    pattern("store.rendezvous", "failure", "RendezvousClosedError"),
    pattern("store.rendezvous", "failure", "failed to shutdown the rendezvous"),
    pattern("store.keep-alive", "doubt", "failed to send a keep-alive heartbeat"),
    pattern("store.closed", "echo", "c10d] recvV", r"recv(?:Value|Vector) failed"),
    pattern("store.closed", "echo", "c10d] send", r"send(?:Value|Vector|Bytes|String) failed"),
    pattern("store.closed", "echo", "TCPStore server has shut down"),
    pattern("store.closed", "echo", "got 0 bytes"),
    pattern("store.closed", "echo", "remote server shutdown or crash"),
    pattern(
        "store.get-failed",
        "echo",
        "retrieving ncclUniqueId from",
        r"retrieving ncclUniqueId from \[?(?P<peer>\d+)",
    ),
    pattern("store.get-failed", "echo", "wait timeout after", r"wait timeout after (?P<limit>\d+)ms"),
    pattern("store.get-failed", "echo", "Socket Timeout"),
    pattern(
        "store.endpoint", "state", "rdzv", r"rdzv[_-]endpoint[=', \"]+(?P<host>[A-Za-z0-9][\w.-]*):(?P<port>\d+)"
    ),
    pattern(
        "store.endpoint",
        "state",
        "aster",
        r"(?i)\bmaster_addr[=:' ]+(?P<host>[A-Za-z0-9][\w.-]*)(?:.*master_port[=:' ]+(?P<port>\d+))?",
    ),
    pattern("store.endpoint", "state", "tcp://", r"tcp://\[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+)"),
    pattern("store.listening", "state", "has started to listen"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What the store or a rendezvous says in a line."""
    for item, fields in found(PATTERNS, line.text):
        if "bound" in fields:
            fields = fields | {"port": fields["bound"]}
        yield event(item, line, fields)
