"""Paths to the other nodes: ARP, neighbor tables, firewalls, and the route to MASTER_ADDR."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text, known, listed, rule
from nccltool.hosts.facts import NotKnown, or_none

_ARP = ("net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce")
_TABLE, _QUEUE = "net.ipv4.neigh.default.gc_thresh3", "net.core.somaxconn"
_USUAL_QUEUE = 4096
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@rule("HOST008", "warning", covers=(), needs=("rdma", "network", "kernel"))
def arp_for_every_adapter(host: JudgedHost) -> Results:
    """Several RoCE adapters are in one subnet, and the kernel answers ARP for all of them on each.

    Why: Peers learn the MAC address of another adapter of this host. Packets arrive at the wrong port, and RoCE
    drops them: queue pairs run into retries, or all traffic takes one port.
    Example: eight RoCE ports in 10.0.0.0/24, and net.ipv4.conf.all.arp_ignore is 0
    Instead: sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
    Source: Linux, Documentation/networking/ip-sysctl.rst, arp_ignore and arp_announce
    """
    shared = [(subnet, names) for subnet, names in _subnets(host).items() if len(names) > 1]
    if not shared:
        return
    values = {name: known(host.facts.kernel.sysctl(name)).strip() for name in _ARP}
    if values[_ARP[0]] == "0":
        subnet, names = shared[0]
        message = f"{listed(sorted(names))} are in {subnet}, and each answers ARP for the others"
        remedy = f"sysctl -w {_ARP[0]}=1 {_ARP[1]}=2, or give each adapter a subnet of its own"
        yield report.host(_ARP[0], message, remedy, evidence=tuple(f"{one} = {values[one]}" for one in _ARP))


def _subnets(host: JudgedHost) -> dict[str, set[str]]:
    """The interfaces of active RoCE ports by their IPv4 subnet. Raises NotKnown."""
    ports = [port for port in host.active_ports if port.roce]
    netdevs = {name for port in ports for name in or_none(port.device.netdevs) or ()}
    found: dict[str, set[str]] = defaultdict(set)
    for one in known(host.facts.network.addresses) if len(netdevs) > 1 else ():
        if one.interface in netdevs and one.family == "AF_INET" and isinstance(one.prefix_len, int):
            subnet = ipaddress.ip_network(f"{one.address}/{one.prefix_len}", strict=False)
            if subnet.num_addresses > 2:
                found[str(subnet)].add(one.interface)
    return found


@rule("HOST009", "warning", covers=(), needs=("network", "kernel"))
def small_neighbor_table(host: JudgedHost) -> Results:
    """The kernel's table of neighbors is smaller than the number of nodes.

    Why: When the table is full, connections to further hosts fail: "neighbour table overflow" in the kernel log,
    and "No route to host" or a timeout in NCCL.
    Example: net.ipv4.neigh.default.gc_thresh3 is 1024 in a job of 2,000 nodes
    Instead: sysctl -w net.ipv4.neigh.default.gc_thresh3=16384
    Source: Linux, Documentation/networking/ip-sysctl.rst, neigh/default/gc_thresh3
    """
    nodes = known(host.nodes)
    if nodes > 128:  # the smallest default, gc_thresh1
        text = known(host.facts.kernel.sysctl(_TABLE)).strip()
        if text.isdecimal() and int(text) < nodes:
            message = f"the kernel keeps at most {text} neighbors, and the job has {nodes} nodes"
            remedy = f"sysctl -w {_TABLE}={max(16384, 4 * nodes)}"
            yield report.host(_TABLE, message, remedy, evidence=(f"{_TABLE} = {text}",))


@rule("HOST010", "warning", covers=(), needs=("services",))
def firewall_running(host: JudgedHost) -> Results:
    """A firewall daemon is running on a host of a job with several nodes.

    Why: NCCL, Gloo, and torch's store listen on ports that the kernel chooses. The default zones of firewalld
    refuse connections to them: the job hangs at its start, or ends with "No route to host".
    Example: firewalld is running
    Instead: systemctl stop firewalld, or put the cluster's interfaces into the zone trusted
    Source: NCCL user guide, troubleshooting, networking issues; firewalld documentation, predefined zones
    """
    if host.several_nodes and "firewalld" in known(host.facts.services.running):
        lines = (f"running: {listed(known(host.facts.services.running))}",)
        remedy = "firewall-cmd --zone=trusted --add-interface=<cluster interface>, or systemctl stop firewalld"
        yield report.host("firewalld", "a firewall may drop connections between the nodes", remedy, evidence=lines)


@for_text("LCH021", "error", "MASTER_ADDR", covers=(), needs=("network", "names"))
def master_without_route(host: JudgedHost, variable: Variable, text: str) -> Results:
    """No route of this host leads to MASTER_ADDR.

    Why: torch cannot connect to its store: "No route to host" or "Network is unreachable", until it times out. An
    IPv6 address on a host that has none, or an address of a network to which only other hosts are connected, are
    common reasons.
    Example: MASTER_ADDR=10.1.0.5 on a host with 192.168.0.7/24 and without a default route
    Instead: set MASTER_ADDR to an address of node 0 in a network of all hosts
    Source: pytorch documentation, torch.distributed, environment variable initialization
    """
    networks = tuple(_reachable(host))
    targets = tuple(_targets(host, text))
    if targets and networks and not any(one in network for one in targets for network in networks):
        shown = listed(map(str, targets))
        message = f"no subnet and no route of this host contains {shown}"
        yield report.about(variable, message, "compare with `ip route get` on this host")


def _targets(host: JudgedHost, text: str) -> Iterator[_Address]:
    """What MASTER_ADDR is, or resolves to on this host. Raises NotKnown for a name that was not resolved."""
    plain = text.strip("[]").partition("%")[0]
    try:
        found: tuple[_Address, ...] = (ipaddress.ip_address(plain),)
    except ValueError:
        found = tuple(ipaddress.ip_address(one.partition("%")[0]) for one in known(host.facts.names.master_addr))
    yield from (one for one in found if not one.is_loopback and not one.is_unspecified)


def _reachable(host: JudgedHost) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks of this host's addresses and routes. Raises NotKnown."""
    yield from (ipaddress.ip_network(one.destination, strict=False) for one in known(host.facts.network.routes))
    for one in known(host.facts.network.addresses):
        if isinstance(one.prefix_len, Unknown):
            raise NotKnown(one.prefix_len.reason)
        yield ipaddress.ip_network(f"{one.address}/{one.prefix_len}", strict=False)


@rule("HOST014", "warning", covers=(), needs=("kernel",))
def short_accept_queue(host: JudgedHost) -> Results:
    """The limit on connections that wait to be accepted is below the number of ranks and the kernel's default.

    Why: At the start, all ranks connect to rank 0. The kernel drops connections that do not fit in the queue:
    ranks retry after seconds, or the start times out. UCX reports "try to increase net.core.somaxconn".
    Example: net.core.somaxconn is 128 in a job of 512 ranks
    Instead: sysctl -w net.core.somaxconn=4096
    Source: listen(2), 4096 since Linux 5.4; https://github.com/openucx/ucx/issues/4237
    """
    if not host.several_nodes:
        return
    ranks, text = known(host.nodes) * known(host.local_ranks), known(host.facts.kernel.sysctl(_QUEUE)).strip()
    if text.isdecimal() and int(text) < min(ranks, _USUAL_QUEUE):
        message = f"at most {text} connections can wait, but the job has {ranks} ranks"
        remedy = f"sysctl -w {_QUEUE}={_USUAL_QUEUE}"
        yield report.host(_QUEUE, message, remedy, evidence=(f"{_QUEUE} = {text}",))
