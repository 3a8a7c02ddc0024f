"""Routes, ports that are listened on, and name servers: what /proc/net says."""

import ipaddress
from collections.abc import Iterator

from nccltool.hosts.facts import Listener, Network, Route
from nccltool.hosts.facts.leaves import known, or_none, or_unknown
from nccltool.hosts.sources.base import Source, Tree

_MOST_ROUTES = 512
"""A host that speaks BGP has a million; what matters here are the default and the on-link ones."""
_MOST_LISTENERS = 512
_LISTEN = "0A"
_ANY = "00000000"
_RTF_UP, _RTF_LOCAL = 0x1, 0x80000000


def read(tree: Tree) -> Network:
    """Routes, listeners and resolv.conf."""
    return Network(routes=_routes(tree), listeners=_listeners(tree), resolv_conf=_resolv_conf(tree))


@or_unknown
def _routes(tree: Tree) -> tuple[Route, ...]:
    four, six = known(tree.lines("/proc/net/route")), tree.lines("/proc/net/ipv6_route")
    found = [*_four(four[1:]), *_six(or_none(six) or ())]
    if len(found) > _MOST_ROUTES:
        found.sort(key=lambda route: (bool(route.gateway), not route.destination.endswith("/0")))
    return tuple(found[:_MOST_ROUTES])


def _four(lines: tuple[str, ...]) -> Iterator[Route]:
    for row in map(str.split, lines):
        if len(row) >= 8 and int(row[3], 16) & _RTF_UP:
            gateway = "" if row[2] == _ANY else str(_swapped(row[2]))
            length = int(row[7], 16).bit_count()
            destination = f"{_swapped(row[1])}/{length}"
            yield Route(interface=row[0], destination=destination, gateway=gateway, metric=int(row[6]))


def _swapped(word: str) -> ipaddress.IPv4Address:
    """The kernel prints the four bytes as one little-endian number."""
    return ipaddress.IPv4Address(bytes.fromhex(word)[::-1])


def _six(lines: tuple[str, ...]) -> Iterator[Route]:
    for row in map(str.split, lines):
        if len(row) == 10 and row[9] != "lo" and not int(row[8], 16) & _RTF_LOCAL and row[0][:2] != "ff":
            gateway = _ipv6(row[4])
            yield Route(
                interface=row[9],
                destination=f"{_ipv6(row[0])}/{int(row[1], 16)}",
                gateway="" if gateway.is_unspecified else str(gateway),
                metric=int(row[5], 16),
            )


def _ipv6(digits: str) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(int(digits, 16))


@or_unknown
def _listeners(tree: Tree) -> tuple[Listener, ...]:
    lines = (*known(tree.lines("/proc/net/tcp"))[1:], *(or_none(tree.lines("/proc/net/tcp6")) or ())[1:])
    found = {_listener(row) for row in map(str.split, lines) if len(row) > 7 and row[3] == _LISTEN}
    return tuple(sorted(found, key=lambda one: (one.port, one.address))[:_MOST_LISTENERS])


def _listener(row: list[str]) -> Listener:
    address, _, port = row[1].partition(":")
    return Listener(address=_words_swapped(address), port=int(port, 16), uid=int(row[7]))


def _words_swapped(digits: str) -> str:
    """Each group of four bytes is a little-endian number, also in an IPv6 address."""
    raw = bytes.fromhex(digits)
    return str(ipaddress.ip_address(b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))))


@or_unknown
def _resolv_conf(tree: Tree) -> str:
    lines = known(tree.lines("/etc/resolv.conf"))
    return "\n".join(line.strip() for line in lines if not line.lstrip().startswith(("#", ";")))


SOURCES = (Source.quick("sockets", "network", read),)
