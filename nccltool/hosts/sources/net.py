"""Network interfaces of this host, its identity on the network, and what its name resolves to."""

import fcntl
import ipaddress
import socket
import struct
import threading
from pathlib import Path

_SIOCGIFADDR = 0x8915
_INNER = ("docker", "virbr", "cni", "br-", "veth", "flannel", "cali", "lxc", "podman")
_MOST = 32
"""Addresses that are named to other hosts; they must fit an event."""


def host_id(root: Path = Path("/")) -> str:
    """Boot id and network namespace: the same for processes that share one network stack."""
    try:
        boot = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(root / 'proc/self/ns/net').readlink()}"
    except OSError:
        return socket.gethostname()


def addresses_of(interface: str) -> tuple[str, ...]:
    """IPv4 and IPv6 addresses of an interface."""
    return (*_ipv4(interface), *_ipv6(interface))


def _ipv4(interface: str) -> tuple[str, ...]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:  # no IPv4 address
            return ()
    return (socket.inet_ntoa(answer[20:24]),)


def _ipv6(interface: str) -> tuple[str, ...]:
    try:
        lines = Path("/proc/net/if_inet6").read_text().splitlines()
    except OSError:
        return ()
    rows = [line.split() for line in lines]
    return tuple(str(ipaddress.IPv6Address(int(row[0], 16))) for row in rows if row[-1] == interface)


def outward_addresses() -> tuple[str, ...]:
    """Addresses of this host at which others may reach it: no loopback, nothing that holds only on one link; those
    of bridges that are the same on many hosts (docker0, virbr0, cni0) come last."""
    names = sorted((name for _, name in socket.if_nameindex()), key=lambda name: name.startswith(_INNER))
    found = [address for name in names for address in addresses_of(name)]
    return tuple(dict.fromkeys(a for a in found if not is_loopback(a) and not _is_link_local(a)))[:_MOST]


def _is_link_local(address: str) -> bool:
    return ipaddress.ip_address(address.split("%")[0]).is_link_local


def interface_with(address: str) -> str | None:
    """The interface that has `address`, or None."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if address in addresses_of(name)), None)


def resolve(host: str, timeout_s: float) -> tuple[str, ...] | None:
    """Addresses of a host name; None when it does not resolve in time."""
    found: list[str] = []

    def ask() -> None:
        try:
            found.extend(str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        except OSError:
            return

    # getaddrinfo takes no timeout, and a dead name server costs many seconds
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(timeout_s)
    return tuple(dict.fromkeys(found)) or None


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
    return ipaddress.ip_address(address.split("%")[0]).is_loopback
