"""Which interface has which address."""

import ipaddress

from tests.captured_hosts.kinds import Kind

VIRTUAL_ADDRESSES = {"docker0": "172.17.0.1/16", "virbr0": "192.168.122.1/24", "veth1": "10.244.0.7/24"}


def ipv4_of(kind: Kind) -> list[tuple[str, ipaddress.IPv4Interface]]:
    """(interface, address) without the loopback."""
    named = [(nic.name, nic.address) for nic in kind.nics if nic.address]
    named += [(name, VIRTUAL_ADDRESSES[name]) for name in kind.virtual if name in VIRTUAL_ADDRESSES]
    return [(name, ipaddress.IPv4Interface(address)) for name, address in named]
