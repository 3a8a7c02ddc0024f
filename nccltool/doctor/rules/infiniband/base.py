"""What rules about RDMA have in common: the ports that they look at, as a sentence and as evidence."""

from collections.abc import Iterable, Sequence

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, escaped, known, listed
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.adapters import Port

HCA = "NCCL_IB_HCA"


def port_names(ports: Iterable[Port]) -> str:
    return listed(port.name for port in ports)


def port_lines(ports: Iterable[Port]) -> tuple[str, ...]:
    """Evidence: state, rate and layer of each port."""
    return tuple(escaped(port_line(port)) for port in list(ports)[:8])


def port_line(port: Port) -> str:
    """`mlx5_0:1: InfiniBand, ACTIVE, LinkUp, 400 Gb/s`."""
    rate = or_none(port.port.rate_gbps)
    speed = "rate unknown" if rate is None else f"{rate:g} Gb/s"
    words = (or_none(port.port.link_layer), or_none(port.port.state), or_none(port.port.phys_state), speed)
    return f"{port.name}: {', '.join(word for word in words if word)}"


def about_ports(
    host: JudgedHost, ports: Sequence[Port], message: str, remedy: str, severity: Severity | None = None
) -> report.RuleFinding:
    """A finding about the list that chose these ports, else about the first of them."""
    variable, lines = host.variable(HCA), port_lines(ports)
    if variable is not None:
        return report.about(variable, message, remedy, part="", evidence=lines, severity=severity)
    return report.device(ports[0].name, message, remedy, evidence=lines, severity=severity)


def all_ports(host: JudgedHost) -> tuple[Port, ...]:
    """Every port, also those that NCCL's own network cannot use. Raises NotKnown."""
    return tuple(
        Port(device=one, port=port) for one in known(host.facts.rdma.devices) for port in known(one.ports)
    )


def roce_ports(host: JudgedHost) -> tuple[Port, ...]:
    """The Ethernet ports that NCCL would use. Raises NotKnown."""
    return tuple(port for port in host.active_ports if port.roce)


def only_infiniband(host: JudgedHost) -> bool:
    """Whether every port that NCCL may use is InfiniBand, and there is one. Raises NotKnown."""
    return bool(host.ports) and not any(port.roce for port in host.ports)
