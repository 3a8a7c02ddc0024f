"""Traffic classes and service levels."""

import re
from collections.abc import Iterator

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import only_infiniband, port_names, roce_ports
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.settings import Variable

_OCI_TC = 41
"""DSCP 10 and an ECN bit, by design: oci-hpc."""

_CLASSES = ("NCCL_IB_TC", "NCCL_IB_FIFO_TC")


@rule("IB027", "warning", needs=("rdma", "cloud"))
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
            yield report.about(variable, "a traffic class is 0 to 255", "write 4 x DSCP")
        elif value and not (value == _OCI_TC and host.facts.cloud.provider == "oci"):
            yield from _like_dscp(host, variable, value)


def _like_dscp(host: JudgedHost, variable: Variable, value: int) -> Iterator[report.RuleFinding]:
    """Whether a traffic class was meant as a DSCP: its ports have the class 4*d, or it has ECN bits."""
    if value >= 64 and value % 4 == 0:
        return
    ports = roce_ports(host)
    named = {_default_class(port) for port in ports} - {None}
    if value * 4 in {number & ~3 for number in named if number is not None}:
        yield report.about(
            variable,
            f"{value} is the DSCP of these ports; the traffic class is {value * 4}",
            f"export {variable.name}={value * 4}",
            evidence=tuple(f"{escaped(port.name)}: {_default_class(port)}" for port in ports[:4]),
        )
    elif ports and value % 4:
        yield report.about(
            variable,
            f"the two low bits of {value} are ECN bits: DSCP {value // 4}",
            f"write 4 x DSCP; if DSCP {value} is meant: {(value * 4) % 256}",
            severity="info",
        )


def _default_class(port: Port) -> int | None:
    """The traffic class in `Global tclass=106`; None = there is none, or it is not known."""
    match = re.search(r"tclass=(\d{1,3})", or_none(port.port.traffic_class) or "")
    return int(match[1]) if match else None


@rule("IB028", "info", needs=("rdma",))
def roce_without_traffic_class(host: JudgedHost) -> Results:
    """RoCE is used without a traffic class.

    Why: Its packets go into the default queue of the switches, which may drop, unless the fabric trusts ports.
    Example: RoCE between more than two nodes, and NCCL_IB_TC not set
    Instead: NCCL_IB_TC with the lossless class of the fabric
    Source: NCCL user guide, troubleshooting of networks (RoCE)
    """
    if host.integer("NCCL_IB_TC") is not None:
        return
    bare = [port for port in roce_ports(host) if not known(port.port.traffic_class)]
    if bare and known(host.nodes) > 2:
        yield report.device(
            bare[0].name,
            f"RoCE without a traffic class on {port_names(bare)}",
            "export NCCL_IB_TC=<4 x DSCP of the lossless class>",
            evidence=(f"NCCL_IB_TC is not set; no default class in /sys on {len(bare)} ports",),
        )


@rule("IB029", "info", needs=("rdma",))
def fifo_class_on_infiniband(host: JudgedHost) -> Results:
    """NCCL_IB_FIFO_TC is set, and all ports are InfiniBand.

    Why: Only Ethernet ports have a traffic class.
    Example: NCCL_IB_FIFO_TC=84 on a host with InfiniBand
    Instead: unset NCCL_IB_FIFO_TC
    Source: NCCL src/transport/net_ib/connect.cc
    """
    variable = host.variable("NCCL_IB_FIFO_TC")
    if variable and variable.value and only_infiniband(host):
        yield report.better_unset(variable, "it has no effect on InfiniBand", part="")


@rule("IB030", "error")
def service_level_out_of_range(host: JudgedHost) -> Results:
    """NCCL_IB_SL is not in 0 to 15.

    Why: The field has four bits; the connection cannot be made. -1 is the default, which is 0.
    Example: NCCL_IB_SL=16
    Instead: NCCL_IB_SL=1, as the subnet manager has it
    Source: NCCL user guide, NCCL_IB_SL
    """
    given = host.number("NCCL_IB_SL")
    if given and not -1 <= given[1] <= 15:
        yield report.better_unset(given[0], "a service level is 0 to 15", "write 0 to 15, or unset NCCL_IB_SL")
