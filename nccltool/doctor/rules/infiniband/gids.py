"""The GIDs of RoCE ports: what NCCL takes, whether others can reach it, and the variables that choose it."""

import ipaddress
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, for_number, for_text, listed, rule
from nccltool.doctor.rules.infiniband.base import only_infiniband, port_names, roce_ports
from nccltool.hosts.facts import Gid, NotKnown, known, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port

_INDEX = "NCCL_IB_GID_INDEX"
_REMEDY = f"unset {_INDEX}: NCCL finds the GID itself since 2.21"
_FILTERS = ("NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM")
_OF_CLOUDS = {"gcp": 3, "oci": 3}
"""Published for their own machines: cluster-toolkit, oci-hpc."""
_AUTOMATIC = tuple(adapters.AUTOMATIC_GID)


@for_number("IB016", "error", _INDEX, needs=("rdma",))
def empty_gid(host: JudgedHost, variable: Variable, index: int) -> Results:
    """The GID table of a RoCE port is empty at NCCL_IB_GID_INDEX.

    Why: The connection fails: ibv_modify_qp returns "Invalid argument".
    Example: NCCL_IB_GID_INDEX=3 on a port with two GIDs
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL user guide, troubleshooting, networking; https://github.com/NVIDIA/nccl/issues/426
    """
    empty = [port for port in roce_ports(host) if _gid_at(port, index) is None] if index >= 0 else []
    severity = host.if_several_nodes()
    yield from _wrong(variable, index, empty, f"the GID table is empty at index {index}", severity)


@for_number("IB017", "warning", _INDEX, needs=("rdma",))
def gid_of_roce_v1(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_GID_INDEX points to a GID that is not RoCE v2.

    Why: RoCE v1 does not cross routers, and switches often block it; the symptom is an error with status 12.
    Example: NCCL_IB_GID_INDEX=0
    Instead: unset NCCL_IB_GID_INDEX
    Source: https://github.com/NVIDIA/nccl/issues/426; NCCL user guide, NCCL_IB_GID_INDEX
    """
    old = [port for port, gid in _gids_at(host, index) if known(gid.type) != "RoCE v2"]
    yield from _wrong(variable, index, old, f"the GID at index {index} is not RoCE v2")


@for_number("IB018", "warning", _INDEX, needs=("rdma",))
def link_local_gid(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_GID_INDEX points to a link-local GID.

    Why: A link-local address is reachable only on its own network segment.
    Example: NCCL_IB_GID_INDEX=1, which is fe80::
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (validGid)
    """
    local = [port for port, gid in _gids_at(host, index) if adapters.is_link_local(adapters.address(gid))]
    severity = host.if_several_nodes("warning")
    yield from _wrong(variable, index, local, f"the GID at index {index} is link-local", severity)


def _wrong(
    variable: Variable, index: int, ports: Sequence[Port], what: str, severity: Severity | None = None
) -> Results:
    if ports:
        lines, message = _lines(ports, index), f"{port_names(ports)}: {what}"
        yield report.better_unset(variable, message, _REMEDY, evidence=lines, severity=severity)


@for_number("IB019", "warning", _INDEX, needs=("rdma",))
def index_of_different_gids(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_GID_INDEX selects different kinds of GIDs on different ports.

    Why: NCCL uses the index unchanged on every port. The order of entries in GID tables varies with VLANs, IPv6,
    and containers.
    Example: index 3 is RoCE v2 with IPv4 on mlx5_0, and RoCE v1 on mlx5_1
    Instead: set NCCL_IB_ADDR_FAMILY or NCCL_IB_ADDR_RANGE
    Source: NCCL user guide, NCCL_IB_ADDR_RANGE
    """
    found = _gids_at(host, index)
    if len({_meaning(gid) for _, gid in found}) > 1:
        lines = _lines([port for port, _ in found], index)
        message = f"index {index} is a different kind of GID on different ports"
        yield report.better_unset(variable, message, _REMEDY, evidence=lines)


def _meaning(gid: Gid) -> str:
    """What a GID is: its type and the family of its address. Raises NotKnown."""
    return f"{known(gid.type)}, {adapters.family(adapters.address(gid))}"


def _gid_at(port: Port, index: int) -> Gid | None:
    """What is at an index of its table. Raises NotKnown."""
    return next((gid for gid in known(port.port.gids) if gid.index == index), None)


def _gids_at(host: JudgedHost, index: int) -> list[tuple[Port, Gid]]:
    """What is at an index of the RoCE ports, where something is. Raises NotKnown."""
    ports = roce_ports(host) if index >= 0 else ()
    return [(port, gid) for port in ports if (gid := _gid_at(port, index)) is not None]


def _lines(ports: Sequence[Port], index: int) -> tuple[str, ...]:
    """Evidence: what is at an index of the GID table of each port."""
    return tuple(_line(port, index, _gid_at(port, index)) for port in ports[:8])


def _line(port: Port, index: int, gid: Gid | None) -> str:
    """`mlx5_0:1 gid 3: ::ffff:10.0.0.1, RoCE v2, eth0`."""
    words = (adapters.shown(gid), or_none(gid.type), or_none(gid.netdev)) if gid else ("empty",)
    return f"{escaped(port.name)} gid {index}: {escaped(', '.join(word for word in words if word))}"


@across("IB060", "error", covers=("IB-019",), needs=("rdma",))
def index_of_different_gids_on_hosts(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL_IB_GID_INDEX selects different kinds of GIDs on different hosts.

    Why: NCCL uses the index unchanged on every host. The order of entries in GID tables varies with VLANs, IPv6,
    and containers.
    Example: index 3 is RoCE v2 with IPv4 on most hosts, but RoCE v1 on hosts without an IPv6 address
    Instead: set NCCL_IB_ADDR_FAMILY or NCCL_IB_ADDR_RANGE
    Source: NCCL user guide, NCCL_IB_ADDR_RANGE
    """
    meanings: dict[str, list[str]] = {}
    variables: list[Variable] = []
    for host in hosts:
        try:
            given = _given(host)
            for port in roce_ports(host) if given else ():
                gid = _gid_at(port, given[1]) if given else None
                names = meanings.setdefault(_meaning(gid) if gid else "empty", [])
                names += [host.facts.host] if host.facts.host not in names[-1:] else []
            variables += [given[0]] if given else []
        except NotKnown as why:
            yield Unknown(f"{host.facts.host}: {why}")
    if len(meanings) > 1:
        rarest = sorted(meanings.items(), key=lambda item: len(item[1]))
        message = "this index is a different kind of GID on different hosts"
        lines = tuple(f"{escaped(kind)}: {listed(names, 4)}" for kind, names in rarest[:8])
        yield report.better_unset(variables[0], message, _REMEDY, evidence=lines)


def _given(host: JudgedHost) -> tuple[Variable, int] | None:
    """NCCL_IB_GID_INDEX, when it is an index."""
    given = host.number(_INDEX)
    return given if given and given[1] >= 0 else None


@for_text("IB020", "info", _INDEX, needs=("rdma",))
def gid_index_on_infiniband(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_IB_GID_INDEX is set, but all ports are InfiniBand.

    Why: The index applies only to Ethernet ports; InfiniBand addresses peers by LID.
    Example: NCCL_IB_GID_INDEX=3 on a host with InfiniBand
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex)
    """
    if only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@for_number("IB021", "info", _INDEX, needs=("cloud",))
def fixed_gid_index(host: JudgedHost, variable: Variable, index: int) -> Results:
    """NCCL_IB_GID_INDEX is set although NCCL finds the index itself.

    Why: Since 2.21, NCCL finds a RoCE v2 GID with an IPv4 address on each port; a fixed index breaks when a table
    changes.
    Example: NCCL_IB_GID_INDEX=3
    Instead: unset NCCL_IB_GID_INDEX and test again
    Source: NCCL user guide, troubleshooting, networking
    """
    published = _OF_CLOUDS.get(str(host.facts.cloud.provider))
    if index >= 0 and index != published and host.nccl_is(since=_AUTOMATIC):
        message = f"NCCL {host.nccl} finds the index itself"
        yield report.better_unset(variable, message, f"unset {_INDEX} and test")


@rule("IB022", "warning", needs=("rdma",))
def roce_with_old_default(host: JudgedHost) -> Results:
    """NCCL before 2.21 uses the first GID of a RoCE port, and that GID is not RoCE v2 or is link-local.

    Why: Before 2.21, NCCL_IB_GID_INDEX defaults to 0. Other networks are unreachable with this GID.
    Example: NCCL 2.18 on RoCE
    Instead: set NCCL_IB_GID_INDEX=3 if `show_gids` shows RoCE v2 with IPv4 there or upgrade to NCCL 2.21 or newer
    Source: NCCL user guide, troubleshooting, networking
    """
    ports = roce_ports(host) if host.integer(_INDEX) is None else ()
    if not ports or host.nccl_is(since=_AUTOMATIC):
        return
    wrong = [port for port in ports if not _is_good(_gid_at(port, 0))]
    if wrong:
        good = {gid.index for port in wrong for gid in known(port.port.gids) if _is_good(gid)}
        better = f"export {_INDEX}={min(good)}, or " if len(good) == 1 else ""
        message = f"NCCL {host.nccl} uses GID 0 of {port_names(wrong)}, which other networks cannot reach"
        remedy = f"{better}upgrade NCCL to 2.21 or newer"
        lines = _lines(wrong, 0)
        severity = host.if_several_nodes("warning")
        yield report.device(wrong[0].name, message, remedy, evidence=lines, severity=severity)


def _is_good(gid: Gid | None) -> bool:
    """RoCE v2, and not link-local. Raises NotKnown."""
    return gid is not None and known(gid.type) == "RoCE v2" and not adapters.is_link_local(adapters.address(gid))


@for_text("IB023", "warning", *_FILTERS)
def gid_filters_ignored(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_IB_GID_INDEX is set together with variables that control the search for an index.

    Why: NCCL does not search when the index is set.
    Example: NCCL_IB_GID_INDEX=3 and NCCL_IB_ADDR_RANGE=10.1.0.0/16
    Instead: set only one of the two variables
    Source: NCCL user guide, NCCL_IB_ADDR_FAMILY
    """
    given = _given(host)
    if given:
        message = f"NCCL ignores it because {_INDEX} is set"
        remedy = f"unset {_INDEX} or {variable.name}"
        lines = (f"{escaped(given[0].origin)}: {_INDEX}={escaped(given[0].value[:40])}",)
        yield report.about(variable, message, remedy, evidence=lines, fix=report.unset(given[0]), part="")


@for_text("IB024", "warning", "NCCL_IB_ADDR_RANGE", needs=("rdma",))
def useless_address_range(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL ignores NCCL_IB_ADDR_RANGE, or a port has no GID in the range.

    Why: NCCL ignores a value that is not a network of the family in NCCL_IB_ADDR_FAMILY (default IPv4), and
    reports this only at level INFO. If no GID is in the range, NCCL uses the first GID, which is link-local.
    Example: NCCL_IB_ADDR_RANGE=10.1.0.0
    Instead: NCCL_IB_ADDR_RANGE=10.1.0.0/16
    Source: NCCL src/transport/net_ib/connect.cc (envIbAddrRange)
    """
    wanted = adapters.wanted_range(host.settings)
    if wanted is None:
        remedy = "set the network/prefix of the RDMA interfaces and their family in NCCL_IB_ADDR_FAMILY"
        yield report.about(variable, f"NCCL ignores it: {_why_ignored(host, text)}", remedy)
        return
    ports = roce_ports(host) if _given(host) is None else ()
    outside = [port for port in ports if not _has(port, wanted)]
    if outside:
        usable = ((port, gid) for port in outside[:4] for gid in _usable(port)[:4])
        message = f"{port_names(outside)}: no GID in this range"
        lines = tuple(_line(port, gid.index, gid) for port, gid in usable)
        remedy = "set a range that contains the addresses of all ports or unset it"
        yield report.better_unset(variable, message, remedy, evidence=lines)


def _why_ignored(host: JudgedHost, text: str) -> str:
    if "/" not in text:
        return "it has no /"
    try:
        version = ipaddress.ip_address(text.partition("/")[0]).version
    except ValueError:
        return "it is not an address"
    family, asked = "AF_INET" if version == 4 else "AF_INET6", adapters.wanted_family(host.settings)
    if family != asked:
        return f"it is {family}, and NCCL_IB_ADDR_FAMILY asks for {asked}"
    return "the prefix is too long"


def _has(port: Port, wanted: adapters.Range) -> bool:
    return any(adapters.within(adapters.address(gid), wanted) for gid in known(port.port.gids))


def _usable(port: Port) -> list[Gid]:
    return [gid for gid in known(port.port.gids) if not adapters.is_link_local(adapters.address(gid))]


@rule("IB025", "error", needs=("rdma",))
def no_routable_gid(host: JudgedHost) -> Results:
    """The GID that NCCL would choose on a RoCE port is link-local or not RoCE v2.

    Why: The port has no address of the family that NCCL looks for (IPv4 unless NCCL_IB_ADDR_FAMILY says
    otherwise): its interface has no such address, or the container has a separate network.
    Example: a RoCE port whose interface has no IP address
    Instead: assign an address to the interface; in Kubernetes, use the RDMA CNI
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex); gid_attrs in sysfs
    """
    version = or_none(host.nccl)
    if _given(host) or (version is not None and version < adapters.AUTOMATIC_GID):
        return  # IB016 to IB018; IB022
    kind = "IB/RoCE v1" if host.integer("NCCL_IB_ROCE_VERSION_NUM") == 1 else "RoCE v2"
    wrong = [
        (port, index, gid)
        for port, index, gid in host.gids
        if gid is None or adapters.is_link_local(adapters.address(gid)) or known(gid.type) != kind
    ]
    if wrong:
        family = "IPv6" if adapters.wanted_family(host.settings) == "AF_INET6" else "IPv4"
        message = f"{port_names(port for port, *_ in wrong)}: no {kind} address that other networks can reach"
        remedy = f"assign an {family} address to the interface (inside the container too)"
        lines = tuple(f"{_line(*one)} is the GID that NCCL uses" for one in wrong[:8])
        severity = host.if_several_nodes("error" if version else "warning")  # older ones take another
        yield report.device(wrong[0][0].name, message, remedy, evidence=lines, severity=severity)


@rule("IB026", "error", needs=("rdma", "network"))
def gid_of_hidden_interface(host: JudgedHost) -> Results:
    """The GID that NCCL uses belongs to an interface outside this network namespace.

    Why: The container sees the RDMA device but not its network interface, so the GID is unusable.
    Example: a pod without hostNetwork whose RDMA interface remained on the host
    Instead: set hostNetwork: true or use the RDMA CNI, which moves the interface into the pod
    Source: Linux kernel documentation, RDMA and network namespaces (rdma system, netns exclusive)
    """
    lost = []
    for port, index, gid in host.gids:
        if gid is None:
            continue
        netdev = gid.netdev
        # the kernel's answer for an interface of another namespace
        if isinstance(netdev, Unknown) and not netdev.reason.endswith("Invalid argument"):
            yield Unknown(f"the interface of {port.name}: {netdev.reason}")
        elif isinstance(netdev, Unknown) or host.facts.network.interface(netdev) is None:
            lost.append((port, index, gid))
    if lost:
        message = f"{port_names(port for port, *_ in lost)}: the interface of the GID is not in this namespace"
        remedy = "use the host's network (hostNetwork: true), or move the interface into the container (RDMA CNI)"
        lines = tuple(_line(*one) for one in lost[:8])
        yield report.device(lost[0][0].name, message, remedy, evidence=lines, severity=host.if_several_nodes())
