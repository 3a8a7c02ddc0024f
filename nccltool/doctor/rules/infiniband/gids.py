"""The GIDs of RoCE ports: what NCCL takes, and whether others can reach it."""

from collections.abc import Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, across, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import (
    GID_INDEX,
    gid_at,
    gid_line,
    gid_lines,
    given_index,
    port_names,
    roce_ports,
)
from nccltool.hosts.facts import Gid, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.settings import Variable

_REMEDY = f"unset {GID_INDEX}: NCCL finds the GID itself since 2.21"


@rule("IB016", "error", needs=("rdma",))
def empty_gid(host: JudgedHost) -> Results:
    """Nothing is at the index of NCCL_IB_GID_INDEX on a RoCE port.

    Why: The connection cannot be made: ibv_modify_qp fails with "Invalid argument".
    Example: NCCL_IB_GID_INDEX=3 on a port with two GIDs
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL user guide, troubleshooting of networks; https://github.com/NVIDIA/nccl/issues/426
    """
    given = given_index(host)
    if given is None:
        return
    variable, index = given
    empty = [port for port in roce_ports(host) if gid_at(port, index) is None]
    if empty:
        yield report.better_unset(
            variable,
            f"{port_names(empty)}: nothing is at index {index} of the GID table",
            _REMEDY,
            evidence=gid_lines(empty, index),
        )


@rule("IB017", "error", needs=("rdma",))
def gid_of_roce_v1(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX points to a GID that is not RoCE v2.

    Why: RoCE v1 does not cross routers, and switches often block it; the symptom is an error with status 12.
    Example: NCCL_IB_GID_INDEX=0
    Instead: unset NCCL_IB_GID_INDEX
    Source: https://github.com/NVIDIA/nccl/issues/426; NCCL user guide, NCCL_IB_GID_INDEX
    """
    given = given_index(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in roce_ports(host) if (gid := gid_at(port, index)) is not None]
    wrong = [port for port, gid in found if known(gid.type) != "RoCE v2"]
    if wrong:
        yield report.better_unset(
            variable,
            f"{port_names(wrong)}: the GID at index {index} is not RoCE v2",
            _REMEDY,
            evidence=gid_lines(wrong, index),
        )


@rule("IB018", "error", needs=("rdma",))
def link_local_gid(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX points to a link-local GID.

    Why: It reaches its own segment only.
    Example: NCCL_IB_GID_INDEX=1, which is fe80::
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (validGid)
    """
    given = given_index(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in roce_ports(host) if (gid := gid_at(port, index)) is not None]
    wrong = [port for port, gid in found if adapters.is_link_local(adapters.address(gid))]
    if wrong:
        yield report.better_unset(
            variable,
            f"{port_names(wrong)}: the GID at index {index} is link-local",
            _REMEDY,
            evidence=gid_lines(wrong, index),
            severity=host.if_several_nodes("error", "info"),
        )


def _meaning(gid: Gid) -> str:
    """What a GID is: its type and the family of its address. Raises NotKnown."""
    return f"{known(gid.type)}, {adapters.family(adapters.address(gid))}"


@rule("IB019", "error", needs=("rdma",))
def index_of_different_gids(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX means something else on one port than on another.

    Why: The index is used on every port as it is. The order of a table changes with VLANs, IPv6 and containers.
    Example: index 3 is RoCE v2 with IPv4 on mlx5_0, and RoCE v1 on mlx5_1
    Instead: NCCL_IB_ADDR_FAMILY or NCCL_IB_ADDR_RANGE
    Source: NCCL user guide, NCCL_IB_ADDR_RANGE
    """
    given = given_index(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in roce_ports(host) if (gid := gid_at(port, index)) is not None]
    if len({_meaning(gid) for _, gid in found}) > 1:
        yield report.better_unset(
            variable,
            f"index {index} is not the same kind of GID on all ports",
            _REMEDY,
            evidence=gid_lines([port for port, _ in found], index),
        )


@across("IB060", "error", covers="IB-019", needs=("rdma",))
def index_of_different_gids_on_hosts(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL_IB_GID_INDEX means something else on one host than on another.

    Why: The index is used on every host as it is. The order of a table changes with VLANs, IPv6 and containers.
    Example: index 3 is RoCE v2 with IPv4, and RoCE v1 on hosts without an IPv6 address
    Instead: NCCL_IB_ADDR_FAMILY or NCCL_IB_ADDR_RANGE
    Source: NCCL user guide, NCCL_IB_ADDR_RANGE
    """
    meanings: dict[str, list[str]] = {}
    variables: list[Variable] = []
    for host in hosts:
        try:
            given = given_index(host)
            for port in roce_ports(host) if given else ():
                gid = gid_at(port, given[1]) if given else None
                names = meanings.setdefault(_meaning(gid) if gid else "empty", [])
                names += [host.facts.host] if host.facts.host not in names[-1:] else []
            variables += [given[0]] if given else []
        except NotKnown as why:
            yield Unknown(f"{host.facts.host}: {why}")
    if len(meanings) > 1:
        rarest = sorted(meanings.items(), key=lambda item: len(item[1]))
        yield report.better_unset(
            variables[0],
            "this index is not the same kind of GID on all hosts",
            _REMEDY,
            evidence=tuple(f"{escaped(kind)}: {_some(names)}" for kind, names in rarest[:8]),
        )


def _some(hosts: Sequence[str]) -> str:
    return escaped(", ".join(hosts[:4])) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")


@rule("IB025", "error", needs=("rdma",))
def no_routable_gid(host: JudgedHost) -> Results:
    """The GID that NCCL would find on a RoCE port is link-local, or not RoCE v2.

    Why: The port has no address of the family that NCCL looks for (IPv4 unless NCCL_IB_ADDR_FAMILY says so): its
    interface got none, or the container has another network.
    Example: a port of RoCE whose interface has no IP address
    Instead: give the interface an address; in Kubernetes with the RDMA CNI
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex); gid_attrs in sysfs
    """
    version = or_none(host.nccl)
    if given_index(host) is not None or (version is not None and version < adapters.AUTOMATIC_GID):
        return  # IB016 to IB018; IB022
    kind = "IB/RoCE v1" if host.integer("NCCL_IB_ROCE_VERSION_NUM") == 1 else "RoCE v2"
    wrong = [
        (port, index, gid)
        for port, index, gid in host.gids
        if gid is None or adapters.is_link_local(adapters.address(gid)) or known(gid.type) != kind
    ]
    if wrong:
        yield report.device(
            wrong[0][0].name,
            f"{port_names(port for port, *_ in wrong)}: no {kind} address that other networks can reach",
            f"give the interface an {_kind_of_address(host)} address (inside the container too)",
            evidence=tuple(f"{gid_line(port, gid, index)} is what NCCL takes" for port, index, gid in wrong[:8]),
            severity=host.if_several_nodes("error", "info"),
        )


def _kind_of_address(host: JudgedHost) -> str:
    return "IPv6" if adapters.wanted_family(host.settings) == "AF_INET6" else "IPv4"


@rule("IB026", "error", needs=("rdma", "network"))
def gid_of_hidden_interface(host: JudgedHost) -> Results:
    """The GID that NCCL takes belongs to an interface that is not in this network namespace.

    Why: The RDMA device is visible in the container, its network interface is not: the GID cannot be used.
    Example: a pod without hostNetwork, whose RDMA interface stayed on the host
    Instead: hostNetwork: true, or the RDMA CNI, which moves the interface
    Source: documentation of the kernel, RDMA and network namespaces (rdma system, netns exclusive)
    """
    lost = []
    for port, index, gid in host.gids:
        if gid is None:
            continue
        netdev = gid.netdev
        if isinstance(netdev, Unknown):
            if not netdev.reason.endswith("Invalid argument"):  # the kernel's answer for another namespace
                yield Unknown(f"the interface of {port.name}: {netdev.reason}")
                continue
            lost.append((port, index, gid))
        elif host.facts.network.interface(netdev) is None:
            lost.append((port, index, gid))
    if lost:
        yield report.device(
            lost[0][0].name,
            f"{port_names(port for port, *_ in lost)}: the interface of the GID is not in this namespace",
            "use the network of the host, or move the interface into the container (RDMA CNI)",
            evidence=tuple(gid_line(port, gid, index) for port, index, gid in lost[:8]),
            severity=host.if_several_nodes("error", "info"),
        )
