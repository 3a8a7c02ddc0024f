"""TCPStore and rendezvous: how ranks find one another."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, doubt, each, echo, event, failure, found, state

_PORT = r"(?:.*?port: ?(?P<port>\d+)|.*?\]:(?P<bound>\d+))?"

PATTERNS = (
    failure(
        "store.in-use",
        "ddress already in use",
        r"^(?:.*(?:port: ?|\]:|\*:|0:)(?P<port>\d{2,5})\b(?!:))?.*[Aa]ddress already in use",
    ),
    failure("store.in-use", "EADDRINUSE", r"^(?!.*ddress already in use)" + _PORT),
    failure(
        "store.in-use",
        "failed to listen on any local network address",
        r"^(?!.*(?:ddress already|EADDRINUSE))" + _PORT,
    ),
    failure("store.unresolved", "host not found", r"host not found"),
    failure("store.unresolved", "name resolution", r"(?:gaierror|Error|error).*name resolution"),
    failure("store.unresolved", "Name or service not known", r"^(?!.*\bgai error).*Name or service not known"),
    failure("store.unresolved", "Could not resolve host"),
    doubt("store.lookup-retry", "gai error", r"\((?P<host>[\w.-]+), (?P<port>\d+)\) cannot be retrieved"),
    doubt(
        "store.retry",
        "client socket has failed to connect",
        r"failed to connect to \[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+) \(errno: (?P<errno>\d+) - (?P<error"
        r">[\w ]+)",
    ),
    doubt("store.no-hostname", "hostname of the client socket cannot be retrieved"),
    failure(
        "store.timeout",
        "client socket has timed out",
        r"timed out after (?P<limit>\w+) while trying to connect to \(?(?P<host>[\w.:-]+?)[,:] ?(?P<port>\d+)\)?",
    ),
    failure(
        "store.too-few",
        "clients joined",
        r"(?:Timed out after (?P<limit>\d+) seconds waiting for clients\. )?(?P<joined>\d+)/(?P<expected>"
        r"\d+) clients joined",
    ),
    failure(
        "store.too-few",
        "store based barrier",
        r"Timed out .*store based barrier.*world_size=(?P<expected>\d+), worker_count=(?P<joined>\d+)",
    ),
    failure("store.timeout", "connect() timed out", r"connect\(\) timed out\. Original timeout"),
    failure(
        "store.no-environment",
        "expected, but not set",
        r"environment variable (?P<name>[A-Z_]+) expected, but not set",
    ),
    failure("store.no-environment", "No rendezvous handler for"),
    failure("store.too-few", " nodes joined", r"(?P<joined>\d+) of (?P<expected>\d+) nodes joined"),
    failure("store.rendezvous", "RendezvousTimeoutError", r"^\S*RendezvousTimeoutError|RendezvousTimeoutError"),
    *each(
        failure,
        "store.rendezvous",
        "RendezvousConnectionError",
        "RendezvousClosedError",
        "failed to shutdown the rendezvous",
    ),
    doubt("store.keep-alive", "failed to send a keep-alive heartbeat"),
    echo("store.closed", "c10d] recvV", r"recv(?:Value|Vector) failed"),
    echo("store.closed", "c10d] send", r"send(?:Value|Vector|Bytes|String) failed"),
    *each(echo, "store.closed", "TCPStore server has shut down", "got 0 bytes", "remote server shutdown or crash"),
    echo("store.get-failed", "retrieving ncclUniqueId from", r"retrieving ncclUniqueId from \[?(?P<peer>\d+)"),
    echo("store.get-failed", "wait timeout after", r"wait timeout after (?P<limit>\d+)ms"),
    echo("store.get-failed", "Socket Timeout"),
    state("store.endpoint", "rdzv", r"rdzv[_-]endpoint[=', \"]+(?P<host>[A-Za-z0-9][\w.-]*):(?P<port>\d+)"),
    state(
        "store.endpoint",
        "aster",
        r"(?i)\bmaster_addr[=:' ]+(?P<host>[A-Za-z0-9][\w.-]*)(?:.*master_port[=:' ]+(?P<port>\d+))?",
    ),
    state("store.endpoint", "tcp://", r"tcp://\[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+)"),
    state("store.listening", "has started to listen"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What the store or a rendezvous says in a line."""
    for item, fields in found(PATTERNS, line.text):
        if "bound" in fields:
            fields = fields | {"port": fields["bound"]}
        yield event(item, line, fields)
