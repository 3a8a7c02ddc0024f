"""What rules about RDMA have in common: ports as evidence, the GIDs of an index."""

from collections.abc import Iterable, Sequence

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, escaped, known, listed
from nccltool.hosts.facts import Gid, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.settings import Variable

HCA = "NCCL_IB_HCA"


def port_names(ports: Iterable[Port], most: int = 8) -> str:
    """The names of these ports, for a sentence."""
    return listed([port.name for port in ports], most)


def port_lines(ports: Iterable[Port]) -> tuple[str, ...]:
    """Evidence: state, rate and layer of each port."""
    return tuple(escaped(port_line(port)) for port in list(ports)[:8])


def port_line(port: Port) -> str:
    """`mlx5_0:1: InfiniBand, ACTIVE, LinkUp, 400 Gb/s`."""
    rate = or_none(port.port.rate_gbps)
    speed = "rate not known" if rate is None else f"{rate:g} Gb/s"
    words = (or_none(port.port.link_layer), or_none(port.port.state), or_none(port.port.phys_state), speed)
    return f"{port.name}: {', '.join(word for word in words if word)}"


def about_ports(
    host: JudgedHost, ports: Sequence[Port], message: str, remedy: str, severity: Severity | None = None
) -> report.RuleFinding:
    """A finding about the list that chose these ports, else about the first of them."""
    variable = host.variable(HCA)
    if variable is not None:
        return report.about(variable, message, remedy, evidence=port_lines(ports), severity=severity, part="")
    return report.device(ports[0].name, message, remedy, evidence=port_lines(ports), severity=severity)


def all_ports(host: JudgedHost) -> tuple[Port, ...]:
    """Every port, also those that NCCL's own network cannot use. Raises NotKnown."""
    return tuple(
        Port(device=one, port=port) for one in known(host.facts.rdma.devices) for port in known(one.ports)
    )


GID_INDEX = "NCCL_IB_GID_INDEX"


def roce_ports(host: JudgedHost) -> tuple[Port, ...]:
    """The Ethernet ports that NCCL would use. Raises NotKnown."""
    return tuple(port for port in host.active_ports if port.roce)


def only_infiniband(host: JudgedHost) -> bool:
    """Whether every port that NCCL may use is InfiniBand, and there is one. Raises NotKnown."""
    ports = host.ports
    return bool(ports) and not any(port.roce for port in ports)


def given_index(host: JudgedHost) -> tuple[Variable, int] | None:
    """NCCL_IB_GID_INDEX, when it is an index."""
    variable, index = host.variable(GID_INDEX), host.integer(GID_INDEX)
    return (variable, index) if variable is not None and index is not None and index >= 0 else None


def gid_at(port: Port, index: int) -> Gid | None:
    """What is at an index of its table. Raises NotKnown."""
    return next((gid for gid in known(port.port.gids) if gid.index == index), None)


def gid_line(port: Port, gid: Gid | None, index: int) -> str:
    """`mlx5_0:1 gid 3: ::ffff:10.0.0.1, RoCE v2, eth0`."""
    if gid is None:
        return f"{escaped(port.name)} gid {index}: empty"
    words = (adapters.shown(gid), or_none(gid.type), or_none(gid.netdev))
    return f"{escaped(port.name)} gid {index}: {escaped(', '.join(word for word in words if word))}"


def gid_lines(ports: Sequence[Port], index: int) -> tuple[str, ...]:
    """Evidence: what is at an index of the GID table of each port."""
    return tuple(gid_line(port, gid_at(port, index), index) for port in ports[:8])
