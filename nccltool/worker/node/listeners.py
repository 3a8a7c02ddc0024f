"""Listening sockets of a node: on the addresses that others are to use, and on no others without need."""

import errno
import socket
from collections.abc import Sequence

from nccltool.hosts.sources import net

_BACKLOG = 1024
_RESOLVE_S = 2.0
_ATTEMPTS = 5
"""To find a port that is free on all addresses."""
_NOT_OURS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def named(host: str, port: int) -> list[socket.socket]:
    """Where the name of node 0 leads here. Raises OSError.

    At all addresses of this host where it leads elsewhere (a Service of Kubernetes, NAT), or where the host's own
    name leads to loopback, as in /etc/hosts of Debian: others are told another address.
    """
    addresses = net.resolve(host, _RESOLVE_S) or ()
    theirs = [address for address in addresses if not net.is_loopback(address)]
    means_loopback = not theirs and (net.is_address(host) or host.lower() in net.LOCAL_NAMES)
    ours = _on(addresses if means_loopback else theirs, port)
    return ours or _on((*addresses, *net.outward_addresses()), port) or _on(("127.0.0.1",), port)


def outward(port: int) -> list[socket.socket]:
    """At all addresses that other hosts may use; on loopback where there are none. Raises OSError."""
    return _on(net.outward_addresses(), port) or _on(("127.0.0.1",), port)


def loopback() -> list[socket.socket]:
    """On this host only, at any port. Raises OSError."""
    return _on(("127.0.0.1",), 0)


def narrowed(listeners: Sequence[socket.socket], addresses: Sequence[str]) -> list[socket.socket]:
    """Those at addresses that are in use, the others closed; all where a name is among them. One stays."""
    if not all(map(net.is_address, addresses)):
        return list(listeners)
    kept = [one for one in listeners if one.getsockname()[0] in addresses] or list(listeners[:1])
    for one in listeners:
        if one not in kept:
            one.close()
    return kept


def own_way(listeners: Sequence[socket.socket]) -> tuple[str, int]:
    """Where processes of this host reach them."""
    host, port, *_ = listeners[0].getsockname()
    return str(host), int(port)


def is_open_to_others(listeners: Sequence[socket.socket]) -> bool:
    return not all(net.is_loopback(str(one.getsockname()[0])) for one in listeners)


def _on(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """At those of the addresses that this host has, all at the same port. Raises OSError."""
    for attempt in range(_ATTEMPTS):
        try:
            return _at_one_port(addresses, port)
        except OSError as error:
            if port or error.errno != errno.EADDRINUSE or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _at_one_port(addresses: Sequence[str], port: int) -> list[socket.socket]:
    there: list[socket.socket] = []
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            there.append(socket.create_server((address, port), family=family, backlog=_BACKLOG))
        except OSError as error:
            if error.errno in _NOT_OURS:
                continue
            for one in there:
                one.close()
            raise
        port = int(there[0].getsockname()[1])
    return there
