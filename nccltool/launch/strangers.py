"""What is said of the secret of a run: that it has none, and who came without it. Pure."""

import ipaddress
from collections.abc import Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.launch.finding_kinds import NO_RUN_SECRET, STRANGERS_REFUSED

_SHOWN = 4
"""Addresses in a sentence."""


def refused(connections: int, addresses: Sequence[str]) -> Finding:
    """The finding for connections that did not show that they know the secret."""
    what = "1 connection" if connections == 1 else f"{connections} connections"
    return STRANGERS_REFUSED.finding(
        subject=Subject(kind="run", name="rendezvous"),
        message=f"{what} to the ports of this run did not have its secret: refused, without any effect",
        evidence=(f"from {named(map(_plain, addresses), _SHOWN)}",),
        remedy="if you do not know the sender, ask who scans ports there; close these ports to other networks",
    )


def unprotected(host: str, port: int, is_of_launcher: bool) -> Finding:
    """The finding for a run that anyone can take part in who reaches its port. Where a launcher starts the ranks,
    its own ports are often as open."""
    return NO_RUN_SECRET.finding(
        severity="info" if is_of_launcher else "warning",
        subject=Subject(kind="run", name="rendezvous"),
        message=f"this run has no secret: whoever reaches {host}:{port} can change its result or end it",
        remedy="give all commands the same --rdzv-secret-file: (umask 077; openssl rand -hex 32 > FILE)",
    )


def _plain(address: str) -> str:
    """An address of IPv4 as such, also where a socket of IPv6 took the call."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)
