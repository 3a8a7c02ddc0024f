"""Variables that switch RDMA on and off."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, rule
from nccltool.doctor.rules.infiniband.base import port_lines, port_names
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.settings import Variable

_FAST_GBPS = 100


@rule("IB001", "warning", needs=("rdma", "plugins"))
def rdma_switched_off(host: JudgedHost) -> Results:
    """NCCL_IB_DISABLE switches RDMA off although ports are active.

    Why: Traffic between nodes falls back to TCP, at a fraction of the bandwidth. It is usually a left-over of
    looking for a fault.
    Example: NCCL_IB_DISABLE=1
    Instead: unset NCCL_IB_DISABLE
    Source: NCCL user guide, NCCL_IB_DISABLE
    """
    variable = host.variable("NCCL_IB_DISABLE")
    if variable is None or not host.integer("NCCL_IB_DISABLE") or _net_plugins(host):
        return  # IB002: the network of a plugin does not look at it
    lost = host.active_ports
    if lost:
        fast = any((or_none(port.port.rate_gbps) or 0) >= _FAST_GBPS for port in lost)
        yield report.better_unset(
            variable,
            f"RDMA is switched off, and {port_names(lost)} are active",
            evidence=port_lines(lost),
            severity=host.if_several_nodes("error", "info") if fast else None,
        )


def _net_plugins(host: JudgedHost) -> tuple[str, ...]:
    """Network plugins that NCCL would load, as far as that is known."""
    if isinstance(host.facts.plugins, Unknown):
        return ()
    return tuple(one.library.path for one in host.net_plugins)


@rule("IB002", "info", needs=("plugins",))
def switch_of_another_network(host: JudgedHost) -> Results:
    """NCCL_IB_DISABLE is set, and NCCL loads a network plugin, which does not look at it.

    Why: The switch concerns the network that is built into NCCL. Plugins of HPC-X, AWS and Google go on using
    RDMA.
    Example: NCCL_IB_DISABLE=1 in an image with HPC-X
    Instead: NCCL_NET=Socket, where TCP is really wanted
    Source: https://github.com/Mellanox/nccl-rdma-sharp-plugins
    """
    variable = host.variable("NCCL_IB_DISABLE")
    if variable is None or not host.integer("NCCL_IB_DISABLE"):
        return
    found = host.net_plugins
    if found:
        yield report.about(
            variable,
            "a network plugin is loaded, and does not look at this switch",
            "for TCP: export NCCL_NET=Socket; for the built-in network: export NCCL_NET_PLUGIN=none",
            evidence=tuple(escaped(one.library.path) for one in found[:4]),
            part="",
        )


def _net(host: JudgedHost) -> tuple[Variable | None, str]:
    variable = host.variable("NCCL_NET")
    return variable, variable.value.lower() if variable else ""


@rule("IB054", "error", needs=("rdma",))
def rdma_asked_for_in_vain(host: JudgedHost) -> Results:
    """NCCL_NET=IB, and no port is active that NCCL may use.

    Why: NCCL must not fall back: initialization fails.
    Example: NCCL_NET=IB, and mlx5_0:1 is DOWN
    Instead: repair the port, or unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    variable, name = _net(host)
    if variable and name == "ib" and not host.active_ports:
        ports = host.ports
        yield report.better_unset(
            variable,
            "no port is active: initialization fails",
            "bring a port up, or unset NCCL_NET",
            evidence=port_lines(ports) or ("there is no port that NCCL could use",),
        )


@rule("IB055", "warning", needs=("rdma",))
def tcp_forced(host: JudgedHost) -> Results:
    """NCCL_NET=Socket although RDMA ports are active.

    Why: Traffic between nodes goes over TCP, at a fraction of the bandwidth.
    Example: NCCL_NET=Socket
    Instead: unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    variable, name = _net(host)
    lost = host.active_ports if name == "socket" else ()
    if variable and lost:
        yield report.better_unset(
            variable,
            f"TCP is forced, and {port_names(lost)} are active",
            "unset NCCL_NET",
            evidence=port_lines(lost),
        )


@rule("IB056", "error")
def only_network_disabled(host: JudgedHost) -> Results:
    """NCCL_NET=IB and NCCL_IB_DISABLE=1.

    Why: The only network that is allowed is switched off: initialization fails.
    Example: NCCL_NET=IB and NCCL_IB_DISABLE=1
    Instead: one of the two
    Source: NCCL src/plugin/net.cc
    """
    variable, name = _net(host)
    other = host.variable("NCCL_IB_DISABLE")
    if variable and other and name == "ib" and host.integer("NCCL_IB_DISABLE"):
        yield report.about(
            variable,
            "the only network that is allowed is switched off by NCCL_IB_DISABLE",
            "unset NCCL_IB_DISABLE for RDMA, or NCCL_NET for TCP",
            evidence=(f"{escaped(other.origin)}: NCCL_IB_DISABLE={escaped(other.value[:40])}",),
            fix=report.unset(other),
        )
