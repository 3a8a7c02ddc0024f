"""Routing, ordering and rails."""

import ipaddress
from collections.abc import Iterator

from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_number, for_text, known
from nccltool.doctor.rules.infiniband.base import HCA, port_names, roce_ports
from nccltool.hosts.nccl import adapters

_Net = ipaddress.IPv4Network | ipaddress.IPv6Network


@for_number("IB041", "info", "NCCL_IB_ADAPTIVE_ROUTING", needs=("rdma", "cloud"))
def adaptive_routing_on_roce(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """NCCL_IB_ADAPTIVE_ROUTING is 1 on RoCE.

    Why: Adaptive routing is meant for switches that spray packets and adapters that reorder them (Spectrum-X,
    gIB). Elsewhere it adds a message to every transfer.
    Example: NCCL_IB_ADAPTIVE_ROUTING=1 on plain RoCE
    Instead: unset NCCL_IB_ADAPTIVE_ROUTING, unless the fabric's vendor requires it
    Source: NCCL user guide, NCCL_IB_ADAPTIVE_ROUTING
    """
    ports = roce_ports(host) if is_on == 1 and host.facts.cloud.provider != "gcp" else ()
    if ports:
        remedy = "unset NCCL_IB_ADAPTIVE_ROUTING, unless the fabric's vendor requires it"
        yield report.about(variable, f"adaptive routing is on for RoCE: {port_names(ports)}", remedy)


@for_number("IB049", "warning", "NCCL_CROSS_NIC", needs=("rdma", "network"))
def rails_without_route(host: JudgedHost, variable: Variable, cross: int) -> Results:
    """NCCL_CROSS_NIC allows traffic between rails, but there is no route between them.

    Why: Connections between rails in different subnets fail: ibv_modify_qp times out (110), or retries run out.
    This check does not read additional routing tables (ip rule).
    Example: NCCL_CROSS_NIC=1 with rails 10.1.0.0/24 and 10.1.1.0/24
    Instead: set NCCL_CROSS_NIC=0 or add routes between the rails
    Source: https://github.com/NVIDIA/nccl/issues/2013; NCCL src/misc/ibvwrap.cc
    """
    rails = dict(_rails(host)) if cross in (1, 2) else {}
    routes = known(host.facts.network.routes) if len(set(rails.values())) > 1 else ()
    ways = [(one.interface, ipaddress.ip_network(one.destination, strict=False)) for one in routes]
    cut = [
        f"no route from {escaped(netdev)} ({own}) to {other}"
        for netdev, own in rails.items()
        for other in dict.fromkeys(rails.values())
        if other != own and not any(way == netdev and _covers(whole, other) for way, whole in ways)
    ]
    if cut:
        message = "traffic between rails in different networks is allowed, but there is no route"
        remedy = "export NCCL_CROSS_NIC=0 or add routes between the rails"
        yield report.about(variable, message, remedy, evidence=tuple(cut[:8]))


def _covers(whole: _Net, part: _Net) -> bool:
    return whole.version == part.version and part.network_address in whole and whole.prefixlen <= part.prefixlen


def _rails(host: JudgedHost) -> Iterator[tuple[str, _Net]]:
    """(interface, its network) of the GID of each RoCE port. Raises NotKnown."""
    for _, _, gid in host.gids:
        if gid is None or adapters.is_link_local(adapters.address(gid)):
            continue
        netdev = known(gid.netdev)
        for one in host.facts.network.addresses_of(netdev):
            if one.address == adapters.shown(gid):
                yield netdev, ipaddress.ip_interface(f"{one.address}/{known(one.prefix_len)}").network


@for_number("IB040", "info", "NCCL_IB_AR_THRESHOLD")
def threshold_above_every_message(host: JudgedHost, variable: Variable, threshold: int) -> Results:
    """NCCL_IB_AR_THRESHOLD is equal to or larger than NCCL_BUFFSIZE.

    Why: No message is larger than the buffer, so NCCL never uses adaptive routing.
    Example: NCCL_IB_AR_THRESHOLD=8388608
    Instead: unset NCCL_IB_AR_THRESHOLD
    Source: NCCL user guide, NCCL_IB_AR_THRESHOLD
    """
    given = host.integer("NCCL_BUFFSIZE")
    size = 4 << 20 if given is None else given
    if threshold >= size:
        message = f"no message is larger than the buffer ({format_bytes(size)}): NCCL never uses adaptive routing"
        yield report.better_unset(variable, message)


@for_number("IB042", "error", "NCCL_IB_OOO_RQ", needs=("rdma",))
def out_of_order_without_routing(host: JudgedHost, variable: Variable, is_on: int) -> Results:
    """NCCL_IB_OOO_RQ is 1, but adaptive routing is off.

    Why: NCCL_IB_OOO_RQ needs adaptive routing; without it, connections fail. On RoCE, adaptive routing is off
    unless NCCL_IB_ADAPTIVE_ROUTING=1.
    Example: NCCL_IB_OOO_RQ=1 on RoCE
    Instead: set NCCL_IB_ADAPTIVE_ROUTING=1 as well or unset NCCL_IB_OOO_RQ
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbSenderQpsCreate)
    """
    routing = host.integer("NCCL_IB_ADAPTIVE_ROUTING")
    if not is_on or routing not in (None, -2, 0):
        return
    ports = [port for port in host.active_ports if known(port.device.driver) == "mlx5_core"]
    without = [port for port in ports if routing == 0 or port.roce]
    if without and host.nccl_is(since=(2, 30, 3)):
        names = escaped(", ".join(port.name for port in without[:8]))
        message = f"adaptive routing is off on {names}: connections fail"
        yield report.better_unset(variable, message, "export NCCL_IB_ADAPTIVE_ROUTING=1 or unset NCCL_IB_OOO_RQ")


@for_number("IB043", "warning", "NCCL_IB_PCI_RELAXED_ORDERING", needs=("cpu",))
def strict_ordering_in_vm(host: JudgedHost, variable: Variable, relaxed: int) -> Results:
    """NCCL_IB_PCI_RELAXED_ORDERING is 0 in a VM.

    Why: Without relaxed ordering, the IOMMU serializes the adapter's writes, and bandwidth drops.
    Example: NCCL_IB_PCI_RELAXED_ORDERING=0 on Azure
    Instead: unset NCCL_IB_PCI_RELAXED_ORDERING
    Source: NCCL user guide, NCCL_IB_PCI_RELAXED_ORDERING
    """
    if not relaxed and known(host.facts.cpu.hypervisor):
        yield report.better_unset(variable, "relaxed ordering is off in a VM")


@for_number("IB044", "warning", "NCCL_IB_PCI_RELAXED_ORDERING", needs=("rdma",))
def ordering_asked_for_in_vain(host: JudgedHost, variable: Variable, relaxed: int) -> Results:
    """NCCL_IB_PCI_RELAXED_ORDERING is 1, but libibverbs does not support it.

    Why: Relaxed ordering needs ibv_reg_mr_iova2, added in rdma-core 28. NVIDIA's guide says that NCCL fails
    without it, but releases 2.12 to 2.30 continue without relaxed ordering, and only the [RO] mark is missing from
    the log.
    Example: NCCL_IB_PCI_RELAXED_ORDERING=1 in an image with rdma-core 22
    Instead: install rdma-core 28 or newer in the image
    Source: NCCL src/transport/net_ib/init.cc (ncclIbRelaxedOrderingCapable)
    """
    if relaxed == 1 and host.active_ports and not known(host.facts.rdma.ibverbs_iova2):
        message = "libibverbs has no ibv_reg_mr_iova2: NCCL continues without relaxed ordering"
        yield report.about(variable, message, "install rdma-core 28 or newer in the image")


@for_text("IB045", "warning", "NCCL_NET_MERGE_POLICY")
def rail_policy_without_rails(host: JudgedHost, variable: Variable, policy: str) -> Results:
    """NCCL_NET_MERGE_POLICY is RAIL, but no entry in NCCL_IB_HCA names a rail.

    Why: Under this policy, NCCL never merges ports without a rail.
    Example: NCCL_NET_MERGE_POLICY=RAIL and NCCL_IB_HCA==mlx5_0,mlx5_1
    Instead: NCCL_IB_HCA==mlx5_0::0,mlx5_1::0
    Source: NCCL user guide, NCCL_NET_MERGE_POLICY; src/graph/topo.cc
    """
    wanted = host.settings.names(HCA)
    railed = wanted is not None and not wanted.exclude and any(entry.rail != -1 for entry in wanted.entries)
    if policy.upper() == "RAIL" and not railed:
        remedy = "add rails to NCCL_IB_HCA (=mlx5_0::0,mlx5_1::0) or unset NCCL_NET_MERGE_POLICY"
        yield report.better_unset(variable, "no port has a rail, so NCCL merges none", remedy)


@for_number("IB050", "info", "NCCL_CROSS_NIC", needs=("rdma", "network", "plugins"))
def cross_nic_with_one_nic(host: JudgedHost, variable: Variable, _: int) -> Results:
    """NCCL_CROSS_NIC is set on a host with one adapter.

    Why: NCCL_CROSS_NIC has an effect only on hosts with several adapters.
    Example: NCCL_CROSS_NIC=1 on a host with only mlx5_0
    Instead: unset NCCL_CROSS_NIC
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    if host.network_kind == "plugin":
        return
    if host.network_kind == "IB":
        names = [port.name for port in host.active_ports]
    else:
        names = [one.name for one in host.interfaces.chosen]
    if len(names) == 1:
        yield report.better_unset(variable, f"it has no effect with one adapter, {escaped(names[0])}", part="")


@for_number("IB051", "warning", "NCCL_CROSS_NIC")
def cross_nic_out_of_range(_: JudgedHost, variable: Variable, cross: int) -> Results:
    """NCCL_CROSS_NIC is not 0, 1, or 2.

    Why: Other values have no meaning.
    Example: NCCL_CROSS_NIC=3
    Instead: unset NCCL_CROSS_NIC (default: 2)
    Source: NCCL user guide, NCCL_CROSS_NIC
    """
    if cross not in (0, 1, 2):
        yield report.better_unset(variable, "it must be 0, 1, or 2", "unset NCCL_CROSS_NIC (default: 2)")


@for_number("IB058", "error", "NCCL_IB_SUBNET_PREFIX_LEN")
def subnet_length_out_of_range(host: JudgedHost, variable: Variable, bits: int) -> Results:
    """NCCL_IB_SUBNET_AWARE_ROUTING is 1, but NCCL_IB_SUBNET_PREFIX_LEN is outside the range 1 to 32.

    Why: Connections fail with an invalid argument.
    Example: NCCL_IB_SUBNET_PREFIX_LEN=64
    Instead: set NCCL_IB_SUBNET_PREFIX_LEN to the prefix length of the rails' networks, such as 24
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbFindDevBySubnet)
    """
    if host.integer("NCCL_IB_SUBNET_AWARE_ROUTING") and not 1 <= bits <= 32:
        message = "a prefix must be 1 to 32 bits long: connections fail"
        yield report.better_unset(
            variable, message, "set the prefix length of the rails' networks or unset it (default: 24)"
        )
