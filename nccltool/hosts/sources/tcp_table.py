"""The kernel's table of TCP connections: whose calls have come, though our answers do not reach them."""

import ipaddress
import sys
from collections.abc import Iterator

from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_FILES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_SYN_RECEIVED = "03"
"""TCP_SYN_RECV of include/net/tcp_states.h: the caller was answered, and has not confirmed that."""
MOST = 64
"""Addresses; they must fit an event."""


def half_open(port: int, tree: Tree | None = None) -> tuple[str, ...]:
    """Addresses whose calls to a port of ours have come and were answered, and that do not confirm the answer."""
    found = dict.fromkeys(address for file in _FILES for address in _callers(tree or Tree(), file, port))
    return tuple(found)[:MOST]


def _callers(tree: Tree, file: str, port: int) -> Iterator[str]:
    for line in or_none(tree.lines(file)) or ():
        words = line.split()
        if len(words) > 3 and words[3] == _SYN_RECEIVED and int(words[1].rpartition(":")[2], 16) == port:
            yield _address(words[2].rpartition(":")[0])


def _address(digits: str) -> str:
    """Of words of 32 bits in the order of the machine; IPv4 where an IPv6 address stands for one."""
    words = [bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(raw)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)
