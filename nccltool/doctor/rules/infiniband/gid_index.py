"""Variables that choose the GID of a RoCE port."""

import ipaddress

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import (
    GID_INDEX,
    gid_at,
    gid_line,
    gid_lines,
    given_index,
    only_infiniband,
    port_names,
    roce_ports,
)
from nccltool.hosts.facts import Gid
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port

_FILTERS = ("NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM")

_OF_CLOUDS = {"gcp": 3, "oci": 3}
"""Published for their own machines: cluster-toolkit, oci-hpc."""

_AUTOMATIC = tuple(adapters.AUTOMATIC_GID)


@rule("IB020", "info", needs=("rdma",))
def gid_index_on_infiniband(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set, and all ports are InfiniBand.

    Why: It concerns Ethernet ports; InfiniBand finds its peers by LID.
    Example: NCCL_IB_GID_INDEX=3 on a host with InfiniBand
    Instead: unset NCCL_IB_GID_INDEX
    Source: NCCL src/transport/net_ib/connect.cc (ncclIbGetGidIndex)
    """
    variable = host.variable(GID_INDEX)
    if variable and variable.value and only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@rule("IB021", "info", needs=("cloud",))
def fixed_gid_index(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set although NCCL finds the index itself.

    Why: Since 2.21 NCCL looks for a RoCE v2 GID with an IPv4 address on each port; a fixed index breaks when a
    table changes.
    Example: NCCL_IB_GID_INDEX=3
    Instead: unset NCCL_IB_GID_INDEX, after a test
    Source: NCCL user guide, troubleshooting of networks
    """
    given = given_index(host)
    if given is None or given[1] == _OF_CLOUDS.get(str(host.facts.cloud.provider)):
        return
    if host.nccl_is(since=_AUTOMATIC):
        yield report.better_unset(
            given[0], f"NCCL {host.nccl} finds the index itself", f"unset {GID_INDEX}, after a test"
        )


@rule("IB022", "error", needs=("rdma",))
def roce_with_old_default(host: JudgedHost) -> Results:
    """NCCL before 2.21 takes the first GID of a RoCE port, which is not RoCE v2 or is link-local.

    Why: Before 2.21 NCCL_IB_GID_INDEX is 0 when it is not set. Other networks cannot be reached with this GID.
    Example: NCCL 2.18 on RoCE
    Instead: NCCL_IB_GID_INDEX=3 (where `show_gids` shows RoCE v2 with IPv4), or NCCL 2.21
    Source: NCCL user guide, troubleshooting of networks
    """
    if host.integer(GID_INDEX) is not None:
        return
    ports = roce_ports(host)
    if not ports or host.nccl_is(since=_AUTOMATIC):
        return
    wrong = [port for port in ports if not _is_good(gid_at(port, 0))]
    if wrong:
        good = {gid.index for port in wrong for gid in known(port.port.gids) if _is_good(gid)}
        better = f"export {GID_INDEX}={min(good)}, or " if len(good) == 1 else ""
        yield report.device(
            wrong[0].name,
            f"NCCL {host.nccl} takes GID 0 of {port_names(wrong)}, which others cannot reach",
            f"{better}upgrade NCCL to 2.21 or newer",
            evidence=gid_lines(wrong, 0),
            severity=host.if_several_nodes("error", "info"),
        )


def _is_good(gid: Gid | None) -> bool:
    """RoCE v2, and not link-local. Raises NotKnown."""
    return gid is not None and known(gid.type) == "RoCE v2" and not adapters.is_link_local(adapters.address(gid))


@rule("IB023", "warning")
def gid_filters_ignored(host: JudgedHost) -> Results:
    """NCCL_IB_GID_INDEX is set together with variables that restrict the search for an index.

    Why: There is no search when the index is given.
    Example: NCCL_IB_GID_INDEX=3 and NCCL_IB_ADDR_RANGE=10.1.0.0/16
    Instead: one of the two ways
    Source: NCCL user guide, NCCL_IB_ADDR_FAMILY
    """
    given = given_index(host)
    for name in _FILTERS if given else ():
        variable = host.variable(name)
        if given and variable and variable.value:
            yield report.about(
                variable,
                f"NCCL does not look at it, because {GID_INDEX} is set",
                f"unset {GID_INDEX} or {name}",
                evidence=(f"{escaped(given[0].origin)}: {GID_INDEX}={escaped(given[0].value[:40])}",),
                fix=report.unset(given[0]),
                part="",
            )


@rule("IB024", "error", needs=("rdma",))
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
            "write network/prefix of the RDMA interfaces, and their family in NCCL_IB_ADDR_FAMILY",
        )
    elif given_index(host) is None:
        outside = [port for port in roce_ports(host) if not _has(port, wanted)]
        if outside:
            yield report.better_unset(
                variable,
                f"{port_names(outside)}: no GID lies in this range",
                "write a range that holds the addresses of all ports, or unset it",
                evidence=tuple(
                    gid_line(port, gid, gid.index) for port in outside[:4] for gid in _usable(port)[:4]
                ),
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
