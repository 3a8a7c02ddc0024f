"""Names under which the server answers: none that a web page could rebind to it.

Without a list, such a page reads the metrics through the browser of somebody inside
(https://en.wikipedia.org/wiki/DNS_rebinding). An address cannot be rebound.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable

from nccltool.core.errors import BadInput

ANY = "*"
_HEADER = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::\d{1,5})?", re.ASCII)
_NAME = re.compile(r"(?!-)[a-z0-9_.-]{1,253}", re.ASCII)


def names(listen: str, allowed: Iterable[str]) -> frozenset[str]:
    """Those of this host, that of --listen, and those of --allowed-host. Raises BadInput."""
    more = [name.lower() for name in allowed]
    for name in more:
        if name != ANY and not _NAME.fullmatch(name):
            raise BadInput(f"--allowed-host {name!r} is not a host name", "write the name without scheme and port")
    own = socket.gethostname().lower()
    listening = listen.rpartition(":")[0].strip("[]").lower()
    return frozenset(filter(None, ("localhost", own, own.partition(".")[0], listening, *more)))


def is_allowed(header: bytes | None, known: frozenset[str]) -> bool:
    """Whether a request may be answered. Only HTTP/1.0 has none, and no browser speaks it."""
    if header is None or ANY in known:
        return True
    found = _HEADER.fullmatch(header.decode("latin-1").strip().lower())
    if not found:
        return False
    host = found[1].strip("[]").removesuffix(".")
    return host in known or _is_address(host)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
