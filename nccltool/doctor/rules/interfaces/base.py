"""What rules about interfaces have in common: the list that chooses them, and what is here."""

import ipaddress

from nccltool.doctor.rules.base import JudgedHost, escaped, known, listed
from nccltool.hosts.facts import Interface, or_none
from nccltool.hosts.nccl.interfaces import ChosenInterface, InterfaceChoice

IFNAME, FAMILY = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"
FOR_SOCKETS = ("network", "plugins", "rdma")
"""What tells whether TCP carries the traffic."""


def known_names(host: JudgedHost) -> tuple[str, ...]:
    """Every name that NCCL could compare with: interfaces, and labels of addresses like eth0:1."""
    network = host.facts.network
    labels = (address.interface for address in or_none(network.addresses) or ())
    return tuple(dict.fromkeys([*(one.name for one in known(network.interfaces)), *labels]))


def interface_of(host: JudgedHost, name: str) -> Interface | None:
    """The interface of an address's label (`eth0:1`). Raises NotKnown."""
    return host.facts.network.interface(name.partition(":")[0])


def is_loopback(host: JudgedHost, chosen: ChosenInterface) -> bool:
    """Whether what NCCL chose is a loopback. Raises NotKnown."""
    interface = interface_of(host, chosen.name)
    return known(interface.loopback) if interface else ipaddress.ip_address(chosen.address).is_loopback


def chosen_lines(choice: InterfaceChoice) -> tuple[str, ...]:
    """Evidence: the interfaces that NCCL chose, with their addresses."""
    return tuple(f"{escaped(one.name)} {one.address}" for one in choice.chosen[:8])


def present(host: JudgedHost) -> tuple[str, ...]:
    """Evidence: the interfaces of this host, with their first address."""
    addresses = {one.interface: one.address for one in reversed(or_none(host.facts.network.addresses) or ())}
    shown = (f"{name} {addresses[name]}" if name in addresses else name for name in known_names(host))
    return (f"here: {listed(shown)}",)
