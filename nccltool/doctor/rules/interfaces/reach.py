"""Whether other hosts can reach the address that NCCL takes to meet them."""

import ipaddress
from collections.abc import Sequence

from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, for_text, listed, rule
from nccltool.doctor.rules.interfaces.base import FAMILY, IFNAME, present
from nccltool.hosts.facts import Interface, known
from nccltool.hosts.nccl import interfaces

_MOST_IN_NETWORK, _INFINIBAND = 3, 32
_SLINGSHOT = "cxi_ss1"
_OVERLAYS = ("br-", "flannel", "cilium", "cni", "weave", "vxlan", "geneve", "tunl", "kube-ipvs", "nodelocaldns")
"""Beginnings of names of bridges of Docker, and of what carries the network of pods."""


@rule("NETIF032", "error", covers=(), needs=("network",))
def link_local_bootstrap(host: JudgedHost) -> Results:
    """The bootstrap address that NCCL chooses is link-local (169.254.0.0/16 or fe80::/10).

    Why: No router forwards such addresses. They belong to interfaces without a configuration, or to the USB
    network of a management controller, so initialization hangs.
    Example: a server whose first interface, enp0s20f0u1, has the address 169.254.3.1
    Instead: set NCCL_SOCKET_IFNAME to the interface that connects the hosts
    Source: RFC 3927 section 2.7; RFC 4291 section 2.5.6; NCCL src/misc/socket.cc
    """
    first = host.interfaces.bootstrap if host.get(FAMILY) != "AF_INET6" else None  # else NETIF017 tells
    if first and ipaddress.ip_address(first.address).is_link_local:
        message = f"NCCL uses {first.address} of {escaped(first.name)}, which no router forwards"
        remedy = f"set {IFNAME} to the interface that connects the hosts"
        severity = host.if_several_nodes()
        yield report.interface(first.name, message, remedy, evidence=present(host), severity=severity)


@for_text("NETIF033", "error", "NCCL_COMM_ID", covers=(), needs=("network",))
def comm_id_in_no_subnet(host: JudgedHost, variable: Variable, _: str) -> Results:
    """The address in NCCL_COMM_ID is in no subnet of this host.

    Why: NCCL binds the bootstrap to the interface in the subnet of that address; without one, it fails.
    Example: NCCL_COMM_ID=10.1.0.5:23456 on a host with only 10.0.0.7/24
    Instead: use an address in a subnet that all hosts share, or unset NCCL_COMM_ID
    Source: NCCL src/bootstrap.cc (bootstrapNetInit), src/misc/socket.cc (ncclFindInterfaceMatchSubnet)
    """
    choice = interfaces.bootstrap(host.settings, host.facts.network)
    if choice.failure == "no interface in the subnet":
        message = "no interface of this host is in the subnet of this address: initialization fails"
        yield report.better_unset(variable, message, evidence=present(host))


@rule("NETIF034", "error", covers=(), needs=("network",))
def host_address_without_route(host: JudgedHost) -> Results:
    """The address that NCCL uses has no neighbors (/32 or /128), and no route leads beyond this host.

    Why: Each such address is a subnet of its own, as in pods of some clouds. Without a route, no other host
    can be reached.
    Example: 10.1.2.3/32 on eth0, and no default route
    Instead: ip route add 10.1.0.0/16 dev eth0
    Source: ip-route(8); NCCL src/misc/socket.cc
    """
    first = host.interfaces.bootstrap
    if first is None or ipaddress.ip_address(first.address).is_loopback or not host.several_nodes:
        return
    own = next(
        one
        for one in known(host.facts.network.addresses)
        if (one.interface, one.address) == (first.name, first.address)
    )
    address = ipaddress.ip_address(first.address)
    if known(own.prefix_len) < address.max_prefixlen:
        return
    networks = (
        ipaddress.ip_network(route.destination, strict=False) for route in known(host.facts.network.routes)
    )
    beyond = [one for one in networks if one.version == address.version and one.num_addresses > 1]
    if not any(not one.is_loopback for one in beyond):
        message = f"{first.address}/{own.prefix_len} has no neighbors, and no route leads beyond this host"
        remedy = f"add a route over {escaped(first.name)} to the addresses of the other hosts"
        yield report.interface(first.name, message, remedy, evidence=present(host))


@rule("NETIF040", "warning", covers=(), needs=("network",))
def network_of_two_interfaces(host: JudgedHost) -> Results:
    """Another interface has an address in the network of the one that NCCL uses.

    Why: The kernel chooses the interface of a connection by its routes. It may send through the other one, which
    is slower or has no link to the peer, and the choice may differ between nodes: connections hang or are
    refused.
    Example: eno1 192.168.3.8/20 and enp37s0f0 192.168.0.8/20
    Instead: give each interface a network of its own, or join them in a bond
    Source: https://github.com/NVIDIA/nccl/issues/1581
    """
    first = host.interfaces.bootstrap
    if first is None or not host.several_nodes:
        return
    addresses = {
        one.interface: one for one in reversed(known(host.facts.network.addresses)) if one.family == "AF_INET"
    }
    own = addresses.get(first.name)
    if own is None or own.address != first.address or not 8 <= known(own.prefix_len) < 31:
        return
    network = ipaddress.ip_network(f"{own.address}/{own.prefix_len}", strict=False)
    others = [name for name, one in addresses.items() if ipaddress.ip_address(one.address) in network]
    interfaces = {name.partition(":")[0]: host.facts.network.interface(name.partition(":")[0]) for name in others}
    rails = {name for name, one in interfaces.items() if one is not None and _is_rail(one)}
    up = [name for name, one in interfaces.items() if one is not None and one.running is True and not one.master]
    # the adapters of a rack often share a network, and have routes of their own
    if first.name in up and 2 <= len(up) <= _MOST_IN_NETWORK and not rails:
        other = next(name for name in up if name != first.name)
        message = f"{escaped(other)} is in the same network, {network}: connections may take it"
        remedy = "give each interface a network of its own, or join them in a bond"
        yield report.interface(first.name, message, remedy, evidence=present(host))


def _is_rail(one: Interface) -> bool:
    """Whether hosts have several adapters of this kind in one network by design: IPoIB, and HPE Slingshot."""
    return one.arp_type == _INFINIBAND or one.driver == _SLINGSHOT


def _is_link_local(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_link_local


@rule("NETIF042", "warning", covers=(), needs=("network", "rdma"))
def sockets_over_bridges(host: JudgedHost) -> Results:
    """NCCL uses TCP over container bridges or veths as well as over the host's interfaces.

    Why: NCCL spreads its sockets over all interfaces that it finds, except docker*, lo, and virbr*. Connections
    over a bridge or a veth end inside the host: they are refused or hang.
    Example: bond0, br-05ab815fa14e, and veth6163fba, and no NCCL_SOCKET_IFNAME
    Instead: NCCL_SOCKET_IFNAME=bond0
    Source: https://github.com/NVIDIA/nccl/issues/697; https://github.com/pytorch/pytorch/issues/68893
    """
    if host.settings.names(IFNAME) or not host.several_nodes:
        return
    chosen = host.interfaces.chosen
    inner = [one.name for one in chosen if one.name.startswith(_OVERLAYS) or interfaces.is_inside(one.name)]
    # a veth beside a tunnel with nothing but a link-local address is a container's own way out
    outer = next((one.name for one in chosen if one.name not in inner and not _is_link_local(one.address)), None)
    # all of NCCL starts over the first one, whatever carries the traffic later
    if inner and outer and (inner[0] == chosen[0].name or not host.active_ports):
        message = f"NCCL also uses {listed(inner, 3)}, which other hosts cannot reach"
        remedy = f"export NCCL_SOCKET_IFNAME={escaped(outer)}"
        yield report.interface(inner[0], message, remedy, evidence=present(host))


@across("NETIF045", "warning", covers=(), needs=("network",))
def public_beside_private(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL bootstraps over a public address on one host and over private addresses on the others.

    Why: Public and private addresses belong to different networks, usually with a firewall or NAT between them:
    ranks wait for each other.
    Example: 1.1.203.7 on one host, which also has 10.25.229.7, and 10.25.117.11 on the other
    Instead: on the first host, NCCL_SOCKET_IFNAME=<its interface in the private network>
    Source: NCCL user guide, troubleshooting, networking issues; RFC 1918;
    https://github.com/ai-dynamo/dynamo/issues/813
    """
    public: list[JudgedHost] = []
    private: list[JudgedHost] = []
    for host in hosts:
        if isinstance(host.facts.network.addresses, Unknown):
            yield host.facts.network.addresses
            continue
        first = host.interfaces.bootstrap
        address = ipaddress.ip_address(first.address) if first else None
        if address is not None and address.version == 4:
            (public if address.is_global else private if address.is_private else []).append(host)
    for host in public if private and len(public) <= len(private) else ():
        first, inner = host.interfaces.bootstrap, _private(host)
        if first and inner:
            message = (
                f"{escaped(host.facts.host)} bootstraps over public {first.address}, others over private addresses"
            )
            remedy = f"on {escaped(host.facts.host)}: export {IFNAME}={escaped(inner)}"
            yield report.interface(first.name, message, remedy, evidence=present(host))


def _private(host: JudgedHost) -> str | None:
    """An interface with a private address that other hosts may reach. Raises NotKnown."""
    for one in known(host.facts.network.addresses):
        address = ipaddress.ip_address(one.address.partition("%")[0])
        if address.version == 6 or address.is_loopback or address.is_link_local:
            continue
        if address.is_private and not interfaces.is_inside(one.interface):
            return one.interface
    return None
