"""Whether NCCL talks RDMA, and which adapters and ports NCCL_IB_HCA chooses."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_names, for_number, for_text, listed, rule
from nccltool.doctor.rules.infiniband.base import HCA, about_ports, all_ports, port_lines, port_names
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.values import NameList

_INTERFACE = re.compile(
    r"(eth|eno|ens|em|bond|team|ib|docker|virbr|veth|br-)\d|en[pP]\d+\w*s\d|lo$|(\d{1,3}\.){3}\d{1,3}(/\d+)?$"
)
"""Interfaces, as the kernel and systemd name them, and addresses. ibp12s0 is the name of a device too."""


@for_number("IB001", "warning", "NCCL_IB_DISABLE", needs=("rdma", "plugins"))
def rdma_switched_off(host: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_IB_DISABLE disables RDMA although ports are active.

    Why: Traffic between nodes falls back to TCP, at a fraction of the bandwidth. The setting is usually left over
    from debugging.
    Example: NCCL_IB_DISABLE=1
    Instead: unset NCCL_IB_DISABLE
    Source: NCCL user guide, NCCL_IB_DISABLE
    """
    if not disabled or (not isinstance(host.facts.plugins, Unknown) and host.net_plugins):
        return  # IB002: the network of a plugin does not look at it
    lost = host.active_ports
    if lost:
        fast = any((or_none(port.port.rate_gbps) or 0) >= 100 for port in lost)
        message = f"RDMA is disabled, but {port_names(lost)} are active"
        lines = port_lines(lost)
        severity = host.if_several_nodes() if fast else None
        yield report.better_unset(variable, message, evidence=lines, severity=severity)


@for_number("IB002", "info", "NCCL_IB_DISABLE", needs=("plugins", "rdma"))
def switch_of_another_network(host: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_IB_DISABLE is set, but NCCL loads a network plugin, which ignores it.

    Why: The variable applies to NCCL's built-in network. The HPC-X, AWS, and Google plugins keep using RDMA: that
    of HPC-X reads NCCL_IBEXT_DISABLE. On a host without adapters for them, this is only a hint.
    Example: NCCL_IB_DISABLE=1 in an image with HPC-X
    Instead: set NCCL_NET=Socket to use TCP
    Source: https://github.com/Mellanox/nccl-rdma-sharp-plugins, src/ib_plugin.c;
    https://github.com/NVIDIA/nccl-tests/issues/373
    """
    found = host.net_plugins if disabled else ()
    if found:
        message = "NCCL loads a network plugin, which ignores this variable"
        remedy = "for TCP: export NCCL_NET=Socket; for the built-in network: export NCCL_NET_PLUGIN=none"
        lines = tuple(escaped(one.library.path) for one in found[:4])
        devices = host.facts.rdma.devices
        # who switches InfiniBand off without saying which adapters there are mostly has some
        has_adapters = isinstance(devices, Unknown) or any(
            or_none(one.driver) not in (None, "efa") for one in devices
        )
        severity: Severity | None = "warning" if has_adapters else None  # no TCP, which the setting asks for
        yield report.about(variable, message, remedy, evidence=lines, part="", severity=severity)


@for_text("IB054", "error", "NCCL_NET", needs=("rdma",))
def rdma_asked_for_in_vain(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET is IB, but no port that NCCL may use is active.

    Why: NCCL may not fall back to TCP, so initialization fails.
    Example: NCCL_NET=IB, and mlx5_0:1 is DOWN
    Instead: repair the port or unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    if net.lower() == "ib" and not host.active_ports:
        lines = port_lines(host.ports) or ("no port that NCCL could use",)
        remedy = "bring a port up or unset NCCL_NET"
        yield report.better_unset(variable, "no port is active: initialization fails", remedy, evidence=lines)


@for_text("IB055", "warning", "NCCL_NET", needs=("rdma",))
def tcp_forced(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET is Socket although RDMA ports are active.

    Why: Traffic between nodes goes over TCP, at a fraction of the bandwidth.
    Example: NCCL_NET=Socket
    Instead: unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    lost = host.active_ports if net.lower() == "socket" else ()
    if lost:
        message = f"TCP is forced, but {port_names(lost)} are active"
        yield report.better_unset(variable, message, evidence=port_lines(lost))


@for_text("IB056", "error", "NCCL_NET")
def only_network_disabled(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET=IB is set together with NCCL_IB_DISABLE=1.

    Why: The only allowed network is disabled, so initialization fails.
    Example: NCCL_NET=IB and NCCL_IB_DISABLE=1
    Instead: set only one of the two variables
    Source: NCCL src/plugin/net.cc
    """
    other = host.number("NCCL_IB_DISABLE")
    if net.lower() == "ib" and other and other[1]:
        message = "NCCL_IB_DISABLE disables the only allowed network"
        remedy = "unset NCCL_IB_DISABLE for RDMA or NCCL_NET for TCP"
        lines = (f"{escaped(other[0].origin)}: NCCL_IB_DISABLE={escaped(other[0].value[:40])}",)
        yield report.about(variable, message, remedy, evidence=lines, fix=report.unset(other[0]))


@for_names("IB003", "error", HCA, needs=("rdma",))
def no_such_adapter(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA matches no RDMA device of this host.

    Why: NCCL logs "NET/IB : No device found" at level INFO and falls back to TCP. udev names devices differently:
    mlx5_0 on one host may be ibp24s0 or rocep24s0 on another.
    Example: NCCL_IB_HCA=mlx5 on a host with ibp24s0
    Instead: NCCL_IB_HCA=ibp
    Source: NCCL user guide, NCCL_IB_HCA; src/transport/net_ib/init.cc
    """
    if not wanted.entries:
        return
    devices = _devices(host)
    if not any(wanted.chooses(name) for name in devices):
        message = "no RDMA device of this host matches: NCCL falls back to TCP"
        remedy = "use names that `rdma link` shows or unset NCCL_IB_HCA"
        lines = (f"here: {listed(devices)}" if devices else "this host has no RDMA device",)
        yield report.better_unset(variable, message, remedy, evidence=lines, severity=None if devices else "info")


def _devices(host: JudgedHost) -> tuple[str, ...]:
    return tuple(device.name for device in known(host.facts.rdma.devices))


@for_names("IB004", "warning", HCA, needs=("rdma",))
def ambiguous_adapter_prefix(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """An entry in NCCL_IB_HCA is the name of one device and a prefix of others.

    Why: Without =, an entry matches every name that begins with it: mlx5_1 also matches mlx5_10 to mlx5_19.
    Storage adapters then carry NCCL traffic, or needed adapters are excluded.
    Example: NCCL_IB_HCA=mlx5_1 on a host with mlx5_10
    Instead: NCCL_IB_HCA==mlx5_1
    Source: NCCL user guide, NCCL_IB_HCA; https://github.com/NVIDIA/nccl/pull/236
    """
    if wanted.exact:
        return
    entries = {entry.name for entry in wanted.entries}
    devices = _devices(host)
    value = f"{'^' if wanted.exclude else ''}={variable.value.removeprefix('^')}"
    for word in sorted(entries.intersection(devices)):
        extra = [name for name in devices if name.startswith(word) and name not in entries]
        if extra:
            yield report.about(
                variable,
                f"{escaped(word)} also matches {listed(extra)}",
                "begin the list with = to require exact names",
                part=word,
                fix=report.export(HCA, value) if entries <= set(devices) else (),
            )


def _are_unlike(host: JudgedHost, name: str, extra: Sequence[str]) -> bool:
    """Whether these devices have another rate or layer than `name`."""
    kinds = {
        (or_none(port.port.rate_gbps), or_none(port.port.link_layer))
        for port in adapters.ports(host.facts.rdma)
        if port.device.name in (name, *extra)
    }
    return len(kinds) > 1


@for_names("IB005", "warning", HCA, needs=("rdma",))
def no_such_port(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA names a port that the device does not have or that is not a number.

    Why: NCCL reads text as port 0, which does not exist, and ignores the device.
    Example: NCCL_IB_HCA=mlx5_0:2 on an adapter with one port
    Instead: NCCL_IB_HCA=mlx5_0:1
    Source: NCCL src/misc/utils.cc (parseStringList)
    """
    for entry in wanted.entries:
        if entry.port == 0 and isinstance(host.facts.rdma.devices, Unknown):
            message = f"{escaped(entry.name)} has no port 0: ports are numbered from 1"
            yield report.about(variable, message, "use the name without a port", part=f"{entry.name}:")
            continue
        ports = () if entry.port == -1 else all_ports(host)
        fitting = [one for one in ports if _fits(wanted, entry.name, one.device.name)]
        if fitting and all(one.port.number != entry.port for one in fitting):
            message = f"{escaped(entry.name)} has no port {entry.port}"
            remedy = f"use {escaped(fitting[0].name)} or the name without a port"
            lines = (f"here: {port_names(fitting)}",)
            severity: Severity | None = None if host.ports else "error"
            yield report.about(variable, message, remedy, part=f"{entry.name}:", evidence=lines, severity=severity)


def _fits(wanted: NameList, entry: str, name: str) -> bool:
    return name == entry if wanted.exact else name.startswith(entry)


@for_names("IB008", "warning", HCA)
def broken_adapter_list(_: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA has ^ or = in the wrong place or names no device.

    Why: ^ and = are operators only at the beginning of the value (^ first) and apply to the whole list; elsewhere
    they become part of a name. ^ without a name excludes every device.
    Example: NCCL_IB_HCA=^mlx5_0,^mlx5_3
    Instead: NCCL_IB_HCA=^=mlx5_0,mlx5_3
    Source: NCCL src/transport/net_ib/init.cc, src/misc/utils.cc (parseStringList)
    """
    for word in (entry.name for entry in wanted.entries if entry.name.startswith(("^", "="))):
        message = f"{word[0]} is not at the beginning of the list: it becomes part of a name"
        remedy = "write the operators once, at the beginning: ^=a,b or =a,b"
        # a name that no device has: alone, it leaves none
        severity: Severity | None = "error" if not wanted.exclude and len(wanted.entries) == 1 else None
        yield report.about(variable, message, remedy, part=word, severity=severity)
    if not wanted.entries and wanted.exclude:
        message = "the list names no device, so it excludes every device"
        yield report.better_unset(variable, message, "add device names or unset NCCL_IB_HCA", severity="error")


@for_names("IB009", "warning", HCA, needs=("rdma", "network"))
def interface_instead_of_adapter(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA contains the name of a network interface.

    Why: NCCL_IB_HCA takes names of RDMA devices, as `rdma link` shows them.
    Example: NCCL_IB_HCA=ens1f0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA
    """
    odd = [] if wanted.exclude else [entry.name for entry in wanted.entries if _INTERFACE.match(entry.name)]
    for name in odd if odd and _is_blind(host) else ():
        message = f"{escaped(name)} is what interfaces and addresses are called, not RDMA devices"
        yield report.about(variable, message, "use the RDMA device that `rdma link` shows for it", part=name)
    devices = known(host.facts.rdma.devices)
    for entry in wanted.entries:
        if any(_fits(wanted, entry.name, device.name) for device in devices):
            continue
        if host.facts.network.interface(entry.name) is not None:
            own = [device.name for device in devices if entry.name in (or_none(device.netdevs) or ())]
            message = f"{escaped(entry.name)} is a network interface, not an RDMA device"
            remedy = f"use {listed(own)}" if own else "use the RDMA device that `rdma link` shows for it"
            severity: Severity | None = None if host.ports else "error"
            yield report.about(variable, message, remedy, part=entry.name, severity=severity)


def _is_blind(host: JudgedHost) -> bool:
    """Whether it is not known what devices and interfaces the host has: only names can tell."""
    return isinstance(host.facts.rdma.devices, Unknown) or isinstance(host.facts.network.interfaces, Unknown)


@rule("IB010", "warning", needs=("rdma",))
def mixed_link_layers(host: JudgedHost) -> Results:
    """NCCL would use InfiniBand and RoCE ports together.

    Why: When nodes pair their ports differently, connections between the two kinds fail ("incompatible device").
    Ethernet ports are often for storage.
    Example: mlx5_0 (InfiniBand) and mlx5_4 (RoCE) are active, and NCCL_IB_HCA is not set
    Instead: NCCL_IB_HCA==mlx5_0,mlx5_1
    Source: NCCL src/transport/net_ib/connect.cc; https://github.com/NVIDIA/nccl/issues/2097
    """
    roce = [port for port in host.active_ports if port.roce]
    infiniband = [port for port in host.active_ports if not port.roce]
    if roce and infiniband:
        message = f"NCCL would use InfiniBand ports ({len(infiniband)}) and RoCE ports ({len(roce)}) together"
        remedy = f"use only one kind: export NCCL_IB_HCA=={_chosen(infiniband)}"
        severity: Severity | None = None if host.variable(HCA) else "info"  # NCCL's own choice mostly is right
        yield about_ports(host, (*infiniband[:4], *roce[:4]), message, remedy, severity)


def _chosen(ports: Iterable[Port]) -> str:
    return escaped(",".join(dict.fromkeys(port.device.name for port in ports)))


@rule("IB011", "warning", needs=("rdma",))
def slow_adapter_included(host: JudgedHost) -> Results:
    """One of the ports that NCCL would use is at most half as fast as another.

    Why: The slower port is usually for storage or management. NCCL assigns channels to it, which slows the rings
    that use it.
    Example: mlx5_4 with 100 Gb/s and eight others with 400 Gb/s
    Instead: NCCL_IB_HCA=^=mlx5_4
    Source: https://github.com/NVIDIA/nccl/issues/1412
    """
    rates = {port: known(port.port.rate_gbps) for port in host.active_ports} if len(host.active_ports) > 1 else {}
    slow = [port for port, rate in rates.items() if rate * 2 <= max(rates.values())]
    if slow:
        message = f"{port_names(slow)}: at most half as fast as the fastest port"
        remedy = f"exclude it: export NCCL_IB_HCA=^={_chosen(slow)}"
        shown = (*slow[:4], *[port for port in rates if port not in slow][:4])
        yield about_ports(host, shown, message, remedy, None if host.variable(HCA) else "info")


@rule("IB012", "warning", needs=("rdma",))
def too_many_adapters(host: JudgedHost) -> Results:
    """More than 32 ports match.

    Why: NCCL uses the first 32 ports it finds and ignores the others without a message.
    Example: 40 virtual functions
    Instead: list the intended ports in NCCL_IB_HCA
    Source: NCCL user guide, NCCL_IB_HCA
    """
    count = len(host.active_ports)
    if count > adapters.MOST:
        message = f"{count} active ports match; NCCL uses at most {adapters.MOST}"
        yield about_ports(host, host.active_ports, message, "list the intended ports in NCCL_IB_HCA")


_MERGES = (2, 20, 3)
_MIX_IS_LEFT_ALONE = ((2, 22, 3), (2, 25, 1))
"""From the first to before the second, NCCL merges nothing if some cards have one port and others have more."""


@rule("IB066", "warning", covers=(), needs=("rdma", "plugins"))
def virtual_function_beside_adapter(host: JudgedHost) -> Results:
    """NCCL would use both an adapter and one of its virtual functions.

    Why: NCCL merges them like two ports of one card, but they share one link. Initialization fails if another
    node has no such pair. Containers see both if all of /sys and /dev/infiniband is mounted.
    Example: mlx5_0 (0000:1a:00.0) and its virtual function mlx5_8 (0000:1a:00.1) in a pod
    Instead: mount only one kind, list it in NCCL_IB_HCA, or set NCCL_IB_MERGE_NICS=0
    Source: https://github.com/NVIDIA/nccl/issues/1422; NCCL src/transport/net_ib.cc (ncclIbGetPciPath)
    """
    if host.integer("NCCL_IB_MERGE_NICS") == 0 or host.get("NCCL_NET_MERGE_LEVEL") or host.net_plugins:
        return
    cards = defaultdict[str, list[Port]](list)
    for port in host.active_ports:
        cards[port.card].append(port)
    several = [ports for ports in cards.values() if len(ports) > 1]
    kinds = [(ports, {known(port.device.virtual_function) for port in ports}) for ports in several]
    pairs = [ports for ports, kind in kinds if kind == {False, True}]
    if not pairs or not host.several_nodes or not host.nccl_is(since=_MERGES):
        return
    since, before = _MIX_IS_LEFT_ALONE
    if len({len(ports) for ports in cards.values()}) > 1 and host.nccl_is(since=since, before=before):
        return
    message = f"NCCL merges {port_names(pairs[0])}, although one is a virtual function of the other"
    own = [port for ports in cards.values() for port in ports if not or_none(port.device.virtual_function)]
    remedy = f"export NCCL_IB_HCA=={_chosen(own)}, or NCCL_IB_MERGE_NICS=0"
    yield about_ports(host, [port for ports in pairs for port in ports], message, remedy)
