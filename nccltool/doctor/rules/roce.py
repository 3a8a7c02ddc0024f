"""RDMA over Ethernet: which GID NCCL takes on a port, whether others can reach it, and traffic classes."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, across, escaped, known, listed, rule
from nccltool.hosts.facts import Gid, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.settings import Variable

_INDEX = "NCCL_IB_GID_INDEX"
_FILTERS = ("NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM")
_OF_CLOUDS = {"gcp": 3, "oci": 3}
"""Published for their own machines: cluster-toolkit, oci-hpc."""
_OCI_TC = 41
"""DSCP 10 and an ECN bit, by design: oci-hpc."""
_AUTOMATIC = tuple(adapters.AUTOMATIC_GID)


def _roce(host: JudgedHost) -> tuple[Port, ...]:
    """The Ethernet ports that NCCL would use. Raises NotKnown."""
    return tuple(port for port in host.active_ports if port.roce)


def _only_infiniband(host: JudgedHost) -> bool:
    """Whether every port that NCCL may use is InfiniBand, and there is one. Raises NotKnown."""
    ports = host.ports
    return bool(ports) and not any(port.roce for port in ports)


def _given(host: JudgedHost) -> tuple[Variable, int] | None:
    """NCCL_IB_GID_INDEX, when it is an index."""
    variable, index = host.variable(_INDEX), host.integer(_INDEX)
    return (variable, index) if variable is not None and index is not None and index >= 0 else None


def _at(port: Port, index: int) -> Gid | None:
    """What is at an index of its table. Raises NotKnown."""
    return next((gid for gid in known(port.port.gids) if gid.index == index), None)


def _names(ports: Iterable[Port], most: int = 8) -> str:
    return listed([port.name for port in ports], most)


def _gid(port: Port, gid: Gid | None, index: int) -> str:
    """`mlx5_0:1 gid 3: ::ffff:10.0.0.1, RoCE v2, eth0`."""
    if gid is None:
        return f"{escaped(port.name)} gid {index}: empty"
    words = (adapters.shown(gid), or_none(gid.type), or_none(gid.netdev))
    return f"{escaped(port.name)} gid {index}: {escaped(', '.join(word for word in words if word))}"


def _table(ports: Sequence[Port], index: int) -> tuple[str, ...]:
    return tuple(_gid(port, _at(port, index), index) for port in ports[:8])


_REMEDY = f"unset {_INDEX}: NCCL finds the GID itself since 2.21"


@rule("IB016", "empty-gid", "error", needs=("rdma",))
def empty_gid(host: JudgedHost) -> Results:
    """Nothing is at the index of NCCL_IB_GID_INDEX on a RoCE port.

    Why: The connection cannot be made: ibv_modify_qp fails with "Invalid argument".
    Example: NCCL_IB_GID_INDEX=3 on a port with two GIDs
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL user guide, troubleshooting of networks; https://github.com/NVIDIA/nccl/issues/426
    """
    given = _given(host)
    if given is None:
        return
    variable, index = given
    empty = [port for port in _roce(host) if _at(port, index) is None]
    if empty:
        yield report.better_unset(
            variable,
            f"{_names(empty)}: nothing is at index {index} of the GID table",
            remedy=_REMEDY,
            evidence=_table(empty, index),
        )


@rule("IB017", "gid-of-roce-v1", "error", needs=("rdma",))
def gid_of_roce_v1(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX points to a GID that is not RoCE v2.

    Why: RoCE v1 does not cross routers, and switches often block it; the symptom is an error with status 12.
    Example: NCCL_IB_GID_INDEX=0
    Instead: unset NCCL_IB_GID_INDEX
    Source: https://github.com/NVIDIA/nccl/issues/426; NCCL user guide, NCCL_IB_GID_INDEX
    """
    given = _given(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in _roce(host) if (gid := _at(port, index)) is not None]
    wrong = [port for port, gid in found if known(gid.type) != "RoCE v2"]
    if wrong:
        yield report.better_unset(
            variable,
            f"{_names(wrong)}: the GID at index {index} is not RoCE v2",
            remedy=_REMEDY,
            evidence=_table(wrong, index),
        )


@rule("IB018", "link-local-gid", "error", needs=("rdma",))
def link_local_gid(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX points to a link-local GID.

    Why: It reaches its own segment only.
    Example: NCCL_IB_GID_INDEX=1, which is fe80::
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (validGid)
    """
    given = _given(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in _roce(host) if (gid := _at(port, index)) is not None]
    wrong = [port for port, gid in found if adapters.is_link_local(adapters.address(gid))]
    if wrong:
        yield report.better_unset(
            variable,
            f"{_names(wrong)}: the GID at index {index} is link-local",
            remedy=_REMEDY,
            evidence=_table(wrong, index),
            severity=host.if_several_nodes("error", "info"),
        )


def _meaning(gid: Gid) -> str:
    """What a GID is: its type and the family of its address. Raises NotKnown."""
    return f"{known(gid.type)}, {adapters.family(adapters.address(gid))}"


@rule("IB019", "index-of-different-gids", "error", needs=("rdma",))
def index_of_different_gids(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX means something else on one port than on another.

    Why: The index is used on every port as it is. The order of a table changes with VLANs, IPv6 and containers.
    Example: index 3 is RoCE v2 with IPv4 on mlx5_0, and RoCE v1 on mlx5_1
    Instead: NCCL_IB_ADDR_FAMILY or NCCL_IB_ADDR_RANGE
    Source: NCCL user guide, NCCL_IB_ADDR_RANGE
    """
    given = _given(host)
    if given is None:
        return
    variable, index = given
    found = [(port, gid) for port in _roce(host) if (gid := _at(port, index)) is not None]
    if len({_meaning(gid) for _, gid in found}) > 1:
        yield report.better_unset(
            variable,
            f"index {index} is not the same kind of GID on all ports",
            remedy=_REMEDY,
            evidence=_table([port for port, _ in found], index),
        )


@across("IB060", "index-of-different-gids-on-hosts", "error", covers="IB-019", needs=("rdma",))
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
            given = _given(host)
            for port in _roce(host) if given else ():
                gid = _at(port, given[1]) if given else None
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
            remedy=_REMEDY,
            evidence=tuple(f"{escaped(kind)}: {_some(names)}" for kind, names in rarest[:8]),
        )


def _some(hosts: Sequence[str]) -> str:
    return escaped(", ".join(hosts[:4])) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")


@rule("IB020", "gid-index-on-infiniband", "info", needs=("rdma",))
def gid_index_on_infiniband(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set, and all ports are InfiniBand.

    Why: It concerns Ethernet ports; InfiniBand finds its peers by LID.
    Example: NCCL_IB_GID_INDEX=3 on a host with InfiniBand
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex)
    """
    variable = host.variable(_INDEX)
    if variable and variable.value and _only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@rule("IB021", "fixed-gid-index", "info", needs=("cloud",))
def fixed_gid_index(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set although NCCL finds the index itself.

    Why: Since 2.21 NCCL looks for a RoCE v2 GID with an IPv4 address on each port; a fixed index breaks when a
    table changes.
    Example: NCCL_IB_GID_INDEX=3
    Instead: unset NCCL_IB_GID_INDEX, after a test
    Source: NCCL user guide, troubleshooting of networks
    """
    given = _given(host)
    if given is None or given[1] == _OF_CLOUDS.get(str(host.facts.cloud.provider)):
        return
    if host.nccl_is(since=_AUTOMATIC):
        yield report.better_unset(
            given[0], f"NCCL {host.nccl} finds the index itself", remedy=f"unset {_INDEX}, after a test"
        )


@rule("IB022", "roce-with-old-default", "error", needs=("rdma",))
def roce_with_old_default(host: JudgedHost) -> Results:
    """NCCL before 2.21 takes the first GID of a RoCE port, which is not RoCE v2 or is link-local.

    Why: Before 2.21 NCCL_IB_GID_INDEX is 0 when it is not set. Other networks cannot be reached with this GID.
    Example: NCCL 2.18 on RoCE
    Instead: NCCL_IB_GID_INDEX=3 (where `show_gids` shows RoCE v2 with IPv4), or NCCL 2.21
    Source: NCCL user guide, troubleshooting of networks
    """
    if host.integer(_INDEX) is not None:
        return
    ports = _roce(host)
    if not ports or host.nccl_is(since=_AUTOMATIC):
        return
    wrong = [port for port in ports if not _is_good(_at(port, 0))]
    if wrong:
        good = {gid.index for port in wrong for gid in known(port.port.gids) if _is_good(gid)}
        better = f"export {_INDEX}={min(good)}, or " if len(good) == 1 else ""
        yield report.device(
            wrong[0].name,
            f"NCCL {host.nccl} takes GID 0 of {_names(wrong)}, which others cannot reach",
            remedy=f"{better}upgrade NCCL to 2.21 or newer",
            evidence=_table(wrong, 0),
            severity=host.if_several_nodes("error", "info"),
        )


def _is_good(gid: Gid | None) -> bool:
    """RoCE v2, and not link-local. Raises NotKnown."""
    return gid is not None and known(gid.type) == "RoCE v2" and not adapters.is_link_local(adapters.address(gid))


@rule("IB023", "gid-filters-ignored", "warning")
def gid_filters_ignored(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set together with variables that restrict the search for an index.

    Why: There is no search when the index is given.
    Example: NCCL_IB_GID_INDEX=3 and NCCL_IB_ADDR_RANGE=10.1.0.0/16
    Instead: one of the two ways
    Source: NCCL user guide, NCCL_IB_ADDR_FAMILY
    """
    given = _given(host)
    for name in _FILTERS if given else ():
        variable = host.variable(name)
        if given and variable and variable.value:
            yield report.about(
                variable,
                f"NCCL does not look at it, because {_INDEX} is set",
                evidence=(f"{escaped(given[0].origin)}: {_INDEX}={escaped(given[0].value[:40])}",),
                remedy=f"unset {_INDEX} or {name}",
                fix=report.unset(given[0]),
            )


@rule("IB024", "useless-address-range", "error", needs=("rdma",))
def useless_address_range(host: JudgedHost) -> Results:
    """NCCL_IB_ADDR_RANGE is ignored, or no GID of a port lies in it.

    Why: What is no network of the family in NCCL_IB_ADDR_FAMILY (IPv4 unless set) is ignored; a line at the level
    INFO is all. Without a GID in the range NCCL takes the first one, which is link-local.
    Example: NCCL_IB_ADDR_RANGE=10.1.0.0
    Instead: NCCL_IB_ADDR_RANGE=10.1.0.0/16
    Source: NCCL src/transport/net_ib/connect.cc (envIbAddrRange)
    """
    variable = host.variable("NCCL_IB_ADDR_RANGE")
    if variable is None or not variable.value:
        return
    wanted = adapters.wanted_range(host.settings)
    if wanted is None:
        yield report.about(
            variable,
            f"NCCL ignores it: {_why_ignored(host, variable.value)}",
            part=variable.value,
            remedy="write network/prefix of the RDMA interfaces, and their family in NCCL_IB_ADDR_FAMILY",
        )
    elif _given(host) is None:
        outside = [port for port in _roce(host) if not _has(port, wanted)]
        if outside:
            yield report.better_unset(
                variable,
                f"{_names(outside)}: no GID lies in this range",
                remedy="write a range that holds the addresses of all ports, or unset it",
                evidence=tuple(_gid(port, gid, gid.index) for port in outside[:4] for gid in _usable(port)[:4]),
            )


def _why_ignored(host: JudgedHost, text: str) -> str:
    if "/" not in text:
        return "there is no /"
    try:
        version = ipaddress.ip_address(text.partition("/")[0]).version
    except ValueError:
        return "it is no address"
    family = "AF_INET" if version == 4 else "AF_INET6"
    if family != adapters.wanted_family(host.settings):
        return f"it is {family}, and NCCL_IB_ADDR_FAMILY asks for {adapters.wanted_family(host.settings)}"
    return "the prefix is too long"


def _has(port: Port, wanted: adapters.Range) -> bool:
    return any(adapters.within(adapters.address(gid), wanted) for gid in known(port.port.gids))


def _usable(port: Port) -> list[Gid]:
    return [gid for gid in known(port.port.gids) if not adapters.is_link_local(adapters.address(gid))]


@rule("IB025", "no-routable-gid", "error", needs=("rdma",))
def no_routable_gid(host: JudgedHost) -> Results:
    """The GID that NCCL would find on a RoCE port is link-local, or not RoCE v2.

    Why: The port has no address of the family that NCCL looks for (IPv4 unless NCCL_IB_ADDR_FAMILY says so): its
    interface got none, or the container has another network.
    Example: a port of RoCE whose interface has no IP address
    Instead: give the interface an address; in Kubernetes with the RDMA CNI
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex); gid_attrs in sysfs
    """
    version = or_none(host.nccl)
    if _given(host) is not None or (version is not None and version < adapters.AUTOMATIC_GID):
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
            f"{_names(port for port, *_ in wrong)}: no {kind} address that other networks can reach",
            remedy=f"give the interface an {_kind_of_address(host)} address (inside the container too)",
            evidence=tuple(f"{_gid(port, gid, index)} is what NCCL takes" for port, index, gid in wrong[:8]),
            severity=host.if_several_nodes("error", "info"),
        )


def _kind_of_address(host: JudgedHost) -> str:
    return "IPv6" if adapters.wanted_family(host.settings) == "AF_INET6" else "IPv4"


@rule("IB026", "gid-of-hidden-interface", "error", needs=("rdma", "network"))
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
            f"{_names(port for port, *_ in lost)}: the interface of the GID is not in this namespace",
            remedy="use the network of the host, or move the interface into the container (RDMA CNI)",
            evidence=tuple(_gid(port, gid, index) for port, index, gid in lost[:8]),
            severity=host.if_several_nodes("error", "info"),
        )


_CLASSES = ("NCCL_IB_TC", "NCCL_IB_FIFO_TC")


@rule("IB027", "odd-traffic-class", "warning", needs=("rdma", "cloud"))
def odd_traffic_class(host: JudgedHost) -> Results:
    """A traffic class is not in 0 to 255, has ECN bits, or looks like a DSCP.

    Why: The field has 8 bits; the two low ones are ECN. DSCP d is written 4*d: DSCP 26 becomes 104.
    Example: NCCL_IB_TC=26
    Instead: NCCL_IB_TC=104
    Source: RFC 3168 (the field in the IP header); NCCL user guide, NCCL_IB_TC
    """
    for name in _CLASSES:
        variable, value = host.variable(name), host.integer(name)
        if variable is None or value is None or value == -1:
            continue
        if not 0 <= value <= 255:
            yield report.about(
                variable, "a traffic class is 0 to 255", part=variable.value, remedy="write 4 x DSCP"
            )
        elif value and not (value == _OCI_TC and host.facts.cloud.provider == "oci"):
            yield from _like_dscp(host, variable, value)


def _like_dscp(host: JudgedHost, variable: Variable, value: int) -> Iterator[report.RuleFinding]:
    """Whether a traffic class was meant as a DSCP: its ports have the class 4*d, or it has ECN bits."""
    if value >= 64 and value % 4 == 0:
        return
    ports = _roce(host)
    named = {_default_class(port) for port in ports} - {None}
    if value * 4 in {number & ~3 for number in named if number is not None}:
        yield report.about(
            variable,
            f"{value} is the DSCP of these ports; the traffic class is {value * 4}",
            part=variable.value,
            evidence=tuple(f"{escaped(port.name)}: {_default_class(port)}" for port in ports[:4]),
            remedy=f"export {variable.name}={value * 4}",
        )
    elif ports and value % 4:
        yield report.about(
            variable,
            f"the two low bits of {value} are ECN bits: DSCP {value // 4}",
            part=variable.value,
            remedy=f"write 4 x DSCP; if DSCP {value} is meant: {(value * 4) % 256}",
            severity="info",
        )


def _default_class(port: Port) -> int | None:
    """The traffic class in `Global tclass=106`; None = there is none, or it is not known."""
    match = re.search(r"tclass=(\d{1,3})", or_none(port.port.traffic_class) or "")
    return int(match[1]) if match else None


@rule("IB028", "roce-without-traffic-class", "info", needs=("rdma",))
def roce_without_traffic_class(host: JudgedHost) -> Results:
    """RoCE is used without a traffic class.

    Why: Its packets go into the default queue of the switches, which may drop, unless the fabric trusts ports.
    Example: RoCE between more than two nodes, and NCCL_IB_TC not set
    Instead: NCCL_IB_TC with the lossless class of the fabric
    Source: NCCL user guide, troubleshooting of networks (RoCE)
    """
    if host.integer("NCCL_IB_TC") is not None:
        return
    bare = [port for port in _roce(host) if not known(port.port.traffic_class)]
    if bare and known(host.nodes) > 2:
        yield report.device(
            bare[0].name,
            f"RoCE without a traffic class on {_names(bare)}",
            remedy="export NCCL_IB_TC=<4 x DSCP of the lossless class>",
            evidence=(f"NCCL_IB_TC is not set; no default class in /sys on {len(bare)} ports",),
        )


@rule("IB029", "fifo-class-on-infiniband", "info", needs=("rdma",))
def fifo_class_on_infiniband(host: JudgedHost) -> Results:
    """NCCL_IB_FIFO_TC is set, and all ports are InfiniBand.

    Why: Only Ethernet ports have a traffic class.
    Example: NCCL_IB_FIFO_TC=84 on a host with InfiniBand
    Instead: unset NCCL_IB_FIFO_TC
    Source: NCCL src/transport/net_ib/connect.cc
    """
    variable = host.variable("NCCL_IB_FIFO_TC")
    if variable and variable.value and _only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@rule("IB039", "roce-with-one-queue-pair", "info", needs=("rdma", "plugins"))
def roce_with_one_queue_pair(host: JudgedHost) -> Results:
    """RoCE between more than two nodes with one queue pair for each connection.

    Why: A connection is one flow, which the switches send over one of several equal paths.
    Example: NCCL_IB_QPS_PER_CONNECTION not set on RoCE with ECMP
    Instead: NCCL_IB_QPS_PER_CONNECTION=4, after a measurement
    Source: NCCL user guide, performance and tuning (RoCE considerations)
    """
    if host.integer("NCCL_IB_QPS_PER_CONNECTION") not in (None, 1):
        return
    ports = _roce(host)
    if ports and known(host.nodes) > 2 and not adapters.net_plugins(host.settings, host.facts.plugins):
        yield report.device(
            ports[0].name,
            "each connection is one flow, which hashes to one path of the fabric",
            remedy="measure with NCCL_IB_QPS_PER_CONNECTION=2, 4 and 8",
            evidence=(f"RoCE on {_names(ports)}, {host.nodes} nodes",),
        )


@rule("IB041", "adaptive-routing-on-roce", "info", needs=("rdma", "cloud"))
def adaptive_routing_on_roce(host: JudgedHost) -> Results:
    """NCCL_IB_ADAPTIVE_ROUTING=1 on RoCE.

    Why: It is for switches that spray packets and adapters that put them in order (Spectrum-X, gIB). Elsewhere it
    adds a message to each transfer.
    Example: NCCL_IB_ADAPTIVE_ROUTING=1 on plain RoCE
    Instead: unset it, unless the maker of the fabric asks for it
    Source: NCCL user guide, NCCL_IB_ADAPTIVE_ROUTING
    """
    variable = host.variable("NCCL_IB_ADAPTIVE_ROUTING")
    if variable is None or host.integer("NCCL_IB_ADAPTIVE_ROUTING") != 1 or host.facts.cloud.provider == "gcp":
        return
    ports = _roce(host)
    if ports:
        yield report.about(
            variable,
            f"it is on for RoCE: {_names(ports)}",
            part=variable.value,
            remedy="unset it, unless the maker of the fabric asks for it",
        )


@rule("IB049", "rails-without-route", "warning", needs=("rdma", "network"))
def rails_without_route(host: JudgedHost) -> Results:
    """NCCL_CROSS_NIC allows a rail to talk to another one, and no route leads there.

    Why: Connections between rails in different subnets fail: ibv_modify_qp times out (110), or retries are used
    up. Routes of other tables (ip rule) are not seen here.
    Example: NCCL_CROSS_NIC=1 with rails 10.1.0.0/24 and 10.1.1.0/24
    Instead: NCCL_CROSS_NIC=0, or routes between the rails
    Source: https://github.com/NVIDIA/nccl/issues/2013; NCCL src/misc/ibvwrap.cc
    """
    variable = host.variable("NCCL_CROSS_NIC")
    if variable is None or host.integer("NCCL_CROSS_NIC") not in (1, 2):
        return
    rails = dict(_rails(host))
    routes = known(host.facts.network.routes) if len(set(rails.values())) > 1 else ()
    ways = [(one.interface, ipaddress.ip_network(one.destination, strict=False)) for one in routes]
    cut = [
        f"no route from {escaped(netdev)} ({own}) to {other}"
        for netdev, own in rails.items()
        for other in dict.fromkeys(rails.values())
        if other != own and not any(way == netdev and _covers(whole, other) for way, whole in ways)
    ]
    if cut:
        yield report.about(
            variable,
            "rails in different networks may talk to each other, and no route leads there",
            part=variable.value,
            evidence=tuple(cut[:8]),
            remedy="export NCCL_CROSS_NIC=0, or route between the rails",
        )


_Net = ipaddress.IPv4Network | ipaddress.IPv6Network


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
