"""This host on the network: its name, what names resolve to, its addresses, its identity."""

import ipaddress
import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address, HostNames
from nccltool.hosts.facts.leaves import NotKnown, Texts, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import Source, Tree, getifaddrs, within

_INNER = ("docker", "virbr", "cni", "br-", "veth", "flannel", "cali", "lxc", "podman")
_MOST = 32
"""Addresses that are named to other hosts; they must fit an event."""
LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "localhost4", "localhost6")


def read(tree: Tree, env: Mapping[str, str], seconds: float) -> HostNames:
    """Looks names up, each with its own deadline: a dead name server costs many seconds."""
    hostname = tree.text("/proc/sys/kernel/hostname")
    if isinstance(hostname, Unknown) and tree.live:
        hostname = socket.gethostname()
    master = env.get("MASTER_ADDR", "")
    lines = then(tree.lines("/etc/hosts"), lambda all_: [line.partition("#")[0].split() for line in all_])
    asked = [or_none(hostname) or "", master]
    named = {*asked, *LOCAL_NAMES} - {""}
    if tree.live:
        found = within(seconds, [(f"the lookup of {name!r}", partial(_lookup, name)) for name in asked])
        own, theirs = (one if isinstance(one, Unknown | tuple) else () for one in found)
    else:
        own, theirs = (_captured(lines, name) for name in asked)
    return HostNames(
        hostname=hostname,
        addresses=then(hostname, lambda _: own),
        master_addr=theirs if master else Unknown("MASTER_ADDR is not set"),
        hosts_lines=then(  # of a cluster's file, which has thousands
            lines, lambda all_: tuple(" ".join(row) for row in all_ if named.intersection(row[1:]))[:32]
        ),
        nsswitch_hosts=then(
            tree.lines("/etc/nsswitch.conf"),
            lambda all_: next((" ".join(line.split()) for line in all_ if line.startswith("hosts:")), ""),
        ),
    )


def _lookup(name: str) -> Texts:
    if not name:
        return ()
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        temporary = error.errno == socket.EAI_AGAIN
        return Unknown(f"the lookup of {name!r} failed: {error.strerror}") if temporary else ()
    except (OSError, UnicodeError, ValueError):  # UnicodeError: a label that is too long
        return ()
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))


@or_unknown
def _captured(lines: list[list[str]] | Unknown, name: str) -> tuple[str, ...]:
    """Name servers are those of another place; /etc/hosts is the host's own."""
    rows = known(lines)
    if is_address(name):
        return (name,)
    found = tuple(words[0] for words in rows if name in words[1:])
    if not found:
        raise NotKnown(f"/etc/hosts does not have {name!r}, and a captured tree has no DNS")
    return found


def is_address(name: str) -> bool:
    """Of IPv4 or IPv6, and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return "%" not in name  # a zone is that of one host


def host_id(root: Path = Path("/")) -> str:
    """Boot id and network namespace: the same for processes that share one network stack."""
    try:
        boot = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(root / 'proc/self/ns/net').readlink()}"
    except OSError:
        return socket.gethostname()


def addresses_of(interface: str) -> tuple[str, ...]:
    """The first IPv4 address of an interface, and those of IPv6."""
    return _addresses().get(interface, ())


def _addresses() -> dict[str, tuple[str, ...]]:
    """The same of each interface: the kernel is asked once, for hosts of containers have hundreds of them."""
    found = defaultdict[str, list[Address]](list)
    for name, _, one in or_none(getifaddrs()) or ():
        if one is not None:
            found[name].append(one)
    return {name: tuple(_first_ipv4(own)) for name, own in found.items()}


def _first_ipv4(own: list[Address]) -> Iterator[str]:
    yield from [one.address for one in own if one.family == "AF_INET"][:1]
    yield from (one.address for one in own if one.family == "AF_INET6")


def outward_addresses() -> tuple[str, ...]:
    """Addresses of this host at which others may reach it: no loopback, nothing that holds only on one link; those
    of bridges that are the same on many hosts (docker0, virbr0, cni0) come last."""
    interfaces = sorted((name for _, name in socket.if_nameindex()), key=lambda name: name.startswith(_INNER))
    addresses = _addresses()
    found = [address for name in interfaces for address in addresses.get(name, ())]
    return tuple(dict.fromkeys(a for a in found if not is_loopback(a) and not _ip(a).is_link_local))[:_MOST]


def interface_with(address: str) -> str | None:
    """The interface that has `address`, or None."""
    addresses = _addresses()
    return next((name for _, name in socket.if_nameindex() if address in addresses.get(name, ())), None)


def resolve(host: str, timeout_s: float) -> tuple[str, ...] | None:
    """Addresses of a host name; None when it does not resolve in time: a dead name server costs many seconds."""
    (found,) = within(timeout_s, [(host, partial(_lookup, host))])
    return (or_none(found) or ())[:_MOST] or None


def local_address_towards(host: str, port: int) -> tuple[str, str] | None:
    """(own address, the peer's address) that the kernel would use to reach `host`; sends nothing."""
    for address in resolve(host, 2.0) or ():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, port))
            except OSError:
                continue
            return str(probe.getsockname()[0]), address
    return None


def is_loopback(address: str) -> bool:
    """Whether an address never leaves the host."""
    return _ip(address).is_loopback


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(address.split("%")[0])


SOURCES = (Source("names", "names", read),)
