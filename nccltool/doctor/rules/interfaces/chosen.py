"""The interfaces that NCCL takes: whether they are up, and others can reach them."""

import ipaddress
import re
from collections.abc import Iterable

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_names, for_text, listed, rule
from nccltool.doctor.rules.interfaces.base import FAMILY, IFNAME, chosen_lines, is_loopback, present
from nccltool.hosts.facts import Interface, known, or_none
from nccltool.hosts.facts.leaves import Flag
from nccltool.hosts.nccl import interfaces as nccl_interfaces
from nccltool.hosts.nccl.interfaces import InterfaceChoice
from nccltool.hosts.nccl.values import NameList

_OVERLAY = re.compile(
    r"docker|br-|virbr|veth|cni|flannel|cali|cilium|kube|lxc|podman|tailscale|wg|tun|tap|zt|nerdctl|vxlan"
)
"""Bridges, tunnels and ends of containers, by how their makers name them."""
_EVERY = 1 << 20


@for_names("NETIF002", "error", IFNAME, needs=("network",))
def interface_down(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """Every interface that matches NCCL_SOCKET_IFNAME is down.

    Why: Since 2.28, NCCL considers only running interfaces; earlier releases used an unreachable one.
    Example: NCCL_SOCKET_IFNAME=ens3f1, whose cable is unplugged
    Instead: run ip link set ens3f1 up or choose another interface
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    every = known(host.facts.network.interfaces) if wanted.entries else ()
    fitting = [one for one in every if wanted.chooses(one.name)]
    if fitting and not _any(one.running for one in fitting):
        message = f"{listed(one.name for one in fitting)}: not running"
        remedy = f"ip link set {escaped(fitting[0].name)} up; check the cable; or choose another interface"
        yield report.about(variable, message, remedy, evidence=tuple(_state(one) for one in fitting[:8]), part="")


def _any(flags: Iterable[Flag]) -> bool:
    """Whether one of them is true. Raises NotKnown when none is, and one of them is not known."""
    every = list(flags)
    return True in every or any(known(flag) for flag in every)


def _state(interface: Interface) -> str:
    carrier = or_none(interface.carrier)
    cable = "" if carrier is None else f", carrier {int(carrier)}"
    return f"{escaped(interface.name)}: operstate {escaped(or_none(interface.operstate) or 'unknown')}{cable}"


@rule("NETIF003", "error", needs=("network",))
def interface_without_address(host: JudgedHost) -> Results:
    """The interfaces that NCCL may use have no address, or none of the family in NCCL_SOCKET_FAMILY.

    Why: NCCL skips interfaces without an address. None remains, so initialization fails.
    Example: NCCL_SOCKET_FAMILY=AF_INET6 on a host with IPv4 only
    Instead: unset NCCL_SOCKET_FAMILY or assign an address to the interface
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    wanted, family = host.settings.names(IFNAME), host.variable(FAMILY)
    variable = host.variable(IFNAME) if wanted else family
    if variable is None or (wanted and not wanted.entries):
        return
    interfaces = [one for one in known(host.facts.network.interfaces) if not wanted or wanted.chooses(one.name)]
    if not interfaces or host.interfaces.chosen or not _any(one.running for one in interfaces):
        return
    kind = {"AF_INET": "IPv4 ", "AF_INET6": "IPv6 "}.get(family.value if family else "", "")
    message = f"{listed(one.name for one in interfaces)}: no {kind}address that NCCL can use"
    remedy = "assign an address to the interface" + (f" or unset {FAMILY}" if family else "")
    fix = report.unset(family) if family else ()
    yield report.about(variable, message, remedy, evidence=present(host), fix=fix, part="")


@rule("NETIF004", "error", needs=("network",))
def loopback_between_nodes(host: JudgedHost) -> Results:
    """NCCL would use an interface inside the host (lo, or by its name that of a container) for a multi-node job.

    Why: NCCL tells the other nodes to connect to 127.0.0.1, which is their own loopback address. Without the
    network of the host or the number of nodes, this is a warning.
    Example: NCCL_SOCKET_IFNAME=lo
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    if host.nodes == 1:
        return
    variable = host.variable(IFNAME)
    if variable and _names_inner(host):
        message = "other nodes cannot connect to an interface that exists only inside this host"
        remedy = f"set {IFNAME} to an interface that other nodes can reach, or unset it"
        yield report.better_unset(variable, message, remedy, severity="warning")
        return
    chosen = host.interfaces.chosen
    if chosen and all(is_loopback(host, one) for one in chosen) and host.several_nodes:
        message = f"NCCL tells other nodes to connect to {chosen[0].address}"
        remedy = "set NCCL_SOCKET_IFNAME to an interface that other nodes can reach"
        yield _of_choice(host, host.interfaces, message, remedy)


def _names_inner(host: JudgedHost) -> bool:
    """Whether all that NCCL_SOCKET_IFNAME names is inside a host, by its names: what is there is not known."""
    wanted = host.settings.names(IFNAME)
    if wanted is None or wanted.exclude or not wanted.entries:
        return False
    interfaces = host.facts.network.interfaces
    if isinstance(interfaces, Unknown):
        return all(nccl_interfaces.is_inside(one.name) for one in wanted.entries)
    chosen = [one.name for one in interfaces if wanted.chooses(one.name)]
    return isinstance(host.nodes, Unknown) and chosen == ["lo"]


def _of_choice(
    host: JudgedHost, choice: InterfaceChoice, message: str, remedy: str, severity: Severity | None = None
) -> report.RuleFinding:
    """A finding about what was chosen: about the variable that chose it, else about the interface."""
    lines, variable = chosen_lines(choice), host.variable(IFNAME)
    if variable and host.settings.names(IFNAME):
        return report.about(variable, message, remedy, evidence=lines, severity=severity, part="")
    lines = (*lines, f"chosen because: {choice.why}")
    return report.interface(choice.chosen[0].name, message, remedy, evidence=lines, severity=severity)


@rule("NETIF005", "warning", needs=("network",))
def overlay_interface(host: JudgedHost) -> Results:
    """The bootstrap interface is a bridge, a tunnel, or a container's veth.

    Why: The interface is up, but other nodes cannot reach it. By default, NCCL skips only docker*, lo, and virbr*.
    Example: br-3f1c0a, which comes before eth0
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: https://github.com/NVIDIA/nccl/issues/913; NCCL user guide, troubleshooting, networking
    """
    first = host.interfaces.bootstrap
    if first and _OVERLAY.match(first.name):
        severity = "info" if _is_all_there_is(host, first.name) else host.if_several_nodes("warning")
        message = f"NCCL uses {escaped(first.name)} for bootstrap, which looks like a host-internal network"
        remedy = "set NCCL_SOCKET_IFNAME to the physical interface"
        yield _of_choice(host, host.interfaces, message, remedy, severity)


def _is_all_there_is(host: JudgedHost, name: str) -> bool:
    """Whether a pod has this interface alone: it may well be routed. A bridge for containers never is."""
    others = {one.interface for one in known(host.facts.network.addresses)} - {"lo", name}
    return not others and not name.startswith(("docker", "br-", "virbr"))


@rule("NETIF011", "warning", needs=("network",))
def too_many_interfaces(host: JudgedHost) -> Results:
    """More than 16 interfaces match NCCL_SOCKET_IFNAME or the automatic choice.

    Why: NCCL uses the first 16 interfaces it finds and ignores the others without a message.
    Example: NCCL_SOCKET_IFNAME=eth on a host with 20 eth interfaces
    Instead: list the intended interfaces
    Source: NCCL src/include/net.h (MAX_IFS)
    """
    if len(known(host.facts.network.addresses)) <= nccl_interfaces.MOST:
        return
    choice = nccl_interfaces.choose(host.settings, host.facts.network, most=_EVERY)
    lost = choice.chosen[nccl_interfaces.MOST :]
    if lost:
        message = f"{len(choice.chosen)} interfaces match; NCCL drops {listed(one.name for one in lost)}"
        yield _of_choice(host, choice, message, "list the intended interfaces in NCCL_SOCKET_IFNAME")


@rule("NETIF012", "info", needs=("network",))
def ambiguous_choice(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME is not set, and NCCL may use interfaces in different networks.

    Why: NCCL chooses in the kernel's order, which differs between hosts: two nodes may choose interfaces that
    cannot reach each other. The symptom is a hang while connecting.
    Example: eth0 has 10.0.0.5/24, and eth1 has 192.168.7.5/24
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, troubleshooting, networking
    """
    if host.settings.names(IFNAME) or not host.several_nodes:
        return
    choice = host.interfaces
    routed = [one for one in choice.chosen if not is_loopback(host, one)]
    subnets = nccl_interfaces.subnets(host.facts.network, routed) if len(routed) > 1 else {}
    count = len(set(subnets.values()))
    if count > 1:
        message = f"NCCL may use {len(choice.chosen)} interfaces in {count} networks"
        remedy = "set NCCL_SOCKET_IFNAME to the interface through which all nodes reach each other"
        yield _of_choice(host, choice, message, remedy)


@rule("NETIF013", "info", needs=("network",))
def unroutable_ib_interface(host: JudgedHost) -> Results:
    """NCCL uses an interface whose name begins with ib, although the default route is elsewhere.

    Why: The automatic choice prefers ib*, even for bootstrap. IP over InfiniBand is often not routed or not
    configured on all nodes.
    Example: ib0 has 10.10.0.5/16, and the default route is through eth0
    Instead: set NCCL_SOCKET_IFNAME=eth0 if initialization hangs
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    if host.settings.names(IFNAME) or not host.several_nodes:
        return
    first = host.interfaces.bootstrap
    if not first or not first.name.startswith("ib"):
        return
    ways = {one.interface for one in known(host.facts.network.routes) if one.destination in ("0.0.0.0/0", "::/0")}
    if ways and first.name.partition(":")[0] not in ways:
        message = f"NCCL uses {escaped(first.name)}; the default route is through {listed(sorted(ways))}"
        remedy = f"if initialization hangs: export NCCL_SOCKET_IFNAME={escaped(min(ways))}"
        yield _of_choice(host, host.interfaces, message, remedy)


@for_text("NETIF016", "warning", FAMILY)
def invalid_address_family(_: JudgedHost, variable: Variable, family: str) -> Results:
    """NCCL_SOCKET_FAMILY is neither AF_INET nor AF_INET6.

    Why: NCCL ignores any other value without a message.
    Example: NCCL_SOCKET_FAMILY=ipv4
    Instead: NCCL_SOCKET_FAMILY=AF_INET
    Source: NCCL src/misc/socket.cc (ncclEnvSocketFamily)
    """
    if family not in ("AF_INET", "AF_INET6"):
        remedy = "set AF_INET or AF_INET6 or unset it"
        yield report.better_unset(variable, "NCCL ignores this value", remedy)


@for_text("NETIF017", "error", FAMILY, needs=("network",))
def link_local_address(host: JudgedHost, variable: Variable, family: str) -> Results:
    """NCCL_SOCKET_FAMILY is AF_INET6, and the address that NCCL uses is link-local.

    Why: NCCL uses the first address of an interface. Other nodes reach fe80:: addresses only on their own segment,
    and only if the interface has the same index there.
    Example: NCCL_SOCKET_FAMILY=AF_INET6 on a host without a global IPv6 address
    Instead: unset NCCL_SOCKET_FAMILY or assign a global IPv6 address
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    first = host.interfaces.bootstrap if family == "AF_INET6" else None
    if first and ipaddress.ip_address(first.address).is_link_local:
        message = f"NCCL uses {first.address} of {escaped(first.name)}, which other networks cannot reach"
        remedy = f"assign a global IPv6 address to {escaped(first.name)} or unset {FAMILY}"
        lines = present(host)
        severity = host.if_several_nodes()
        yield report.better_unset(variable, message, remedy, part="", evidence=lines, severity=severity)
