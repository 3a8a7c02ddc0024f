"""What rules about interfaces have in common: the list that chooses them, and what is here."""

import ipaddress

from nccltool.doctor.rules.base import JudgedHost, known, listed
from nccltool.hosts.facts import Interface, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import ChosenInterface
from nccltool.hosts.nccl.settings import Variable

IFNAME, FAMILY = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"


def given_list(host: JudgedHost) -> tuple[Variable, values.NameList] | None:
    """NCCL_SOCKET_IFNAME, when NCCL obeys it: it ignores a value of one character."""
    variable, wanted = host.variable(IFNAME), host.settings.names(IFNAME)
    return (variable, wanted) if variable is not None and wanted is not None else None


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
    if interface is None:
        return ipaddress.ip_address(chosen.address).is_loopback
    return known(interface.loopback)


def present(host: JudgedHost) -> tuple[str, ...]:
    """Evidence: the interfaces of this host, with their first address."""
    addresses = {one.interface: one.address for one in reversed(or_none(host.facts.network.addresses) or ())}
    shown = (f"{name} {addresses[name]}" if name in addresses else name for name in known_names(host))
    return (f"here: {listed(shown)}",)


FOR_SOCKETS = ("network", "plugins", "rdma")
"""What tells whether TCP carries the traffic."""
