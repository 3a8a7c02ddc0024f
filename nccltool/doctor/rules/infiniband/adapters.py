"""Whether NCCL talks RDMA, and which adapters and ports NCCL_IB_HCA chooses."""

from collections.abc import Iterable, Sequence

from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_names, for_number, for_text, listed, rule
from nccltool.doctor.rules.infiniband.base import HCA, about_ports, all_ports, port_lines, port_names
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.values import NameList


@for_number("IB001", "warning", "NCCL_IB_DISABLE", needs=("rdma", "plugins"))
def rdma_switched_off(host: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_IB_DISABLE switches RDMA off although ports are active.

    Why: Traffic between nodes falls back to TCP, at a fraction of the bandwidth. It is usually a left-over of
    looking for a fault.
    Example: NCCL_IB_DISABLE=1
    Instead: unset NCCL_IB_DISABLE
    Source: NCCL user guide, NCCL_IB_DISABLE
    """
    if not disabled or (not isinstance(host.facts.plugins, Unknown) and host.net_plugins):
        return  # IB002: the network of a plugin does not look at it
    lost = host.active_ports
    if lost:
        fast = any((or_none(port.port.rate_gbps) or 0) >= 100 for port in lost)
        message = f"RDMA is switched off, and {port_names(lost)} are active"
        lines = port_lines(lost)
        severity = host.if_several_nodes() if fast else None
        yield report.better_unset(variable, message, evidence=lines, severity=severity)


@for_number("IB002", "info", "NCCL_IB_DISABLE", needs=("plugins",))
def switch_of_another_network(host: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_IB_DISABLE is set, and NCCL loads a network plugin, which does not look at it.

    Why: The switch concerns the network that is built into NCCL. Plugins of HPC-X, AWS and Google go on using
    RDMA.
    Example: NCCL_IB_DISABLE=1 in an image with HPC-X
    Instead: NCCL_NET=Socket, where TCP is really wanted
    Source: https://github.com/Mellanox/nccl-rdma-sharp-plugins
    """
    found = host.net_plugins if disabled else ()
    if found:
        message = "a network plugin is loaded, and does not look at this switch"
        remedy = "for TCP: export NCCL_NET=Socket; for the built-in network: export NCCL_NET_PLUGIN=none"
        lines = tuple(escaped(one.library.path) for one in found[:4])
        yield report.about(variable, message, remedy, evidence=lines, part="")


@for_text("IB054", "error", "NCCL_NET", needs=("rdma",))
def rdma_asked_for_in_vain(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET=IB, and no port is active that NCCL may use.

    Why: NCCL must not fall back: initialization fails.
    Example: NCCL_NET=IB, and mlx5_0:1 is DOWN
    Instead: repair the port, or unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    if net.lower() == "ib" and not host.active_ports:
        lines = port_lines(host.ports) or ("there is no port that NCCL could use",)
        remedy = "bring a port up, or unset NCCL_NET"
        yield report.better_unset(variable, "no port is active: initialization fails", remedy, evidence=lines)


@for_text("IB055", "warning", "NCCL_NET", needs=("rdma",))
def tcp_forced(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET=Socket although RDMA ports are active.

    Why: Traffic between nodes goes over TCP, at a fraction of the bandwidth.
    Example: NCCL_NET=Socket
    Instead: unset NCCL_NET
    Source: NCCL user guide, NCCL_NET
    """
    lost = host.active_ports if net.lower() == "socket" else ()
    if lost:
        message = f"TCP is forced, and {port_names(lost)} are active"
        yield report.better_unset(variable, message, evidence=port_lines(lost))


@for_text("IB056", "error", "NCCL_NET")
def only_network_disabled(host: JudgedHost, variable: Variable, net: str) -> Results:
    """NCCL_NET=IB and NCCL_IB_DISABLE=1.

    Why: The only network that is allowed is switched off: initialization fails.
    Example: NCCL_NET=IB and NCCL_IB_DISABLE=1
    Instead: one of the two
    Source: NCCL src/plugin/net.cc
    """
    other = host.number("NCCL_IB_DISABLE")
    if net.lower() == "ib" and other and other[1]:
        message = "the only network that is allowed is switched off by NCCL_IB_DISABLE"
        remedy = "unset NCCL_IB_DISABLE for RDMA, or NCCL_NET for TCP"
        lines = (f"{escaped(other[0].origin)}: NCCL_IB_DISABLE={escaped(other[0].value[:40])}",)
        yield report.about(variable, message, remedy, evidence=lines, fix=report.unset(other[0]))


@for_names("IB003", "error", HCA, needs=("rdma",))
def no_such_adapter(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA fits no RDMA device of this host.

    Why: NCCL says "NET/IB : No device found" at the level INFO, and goes on over TCP. Devices are renamed by udev:
    mlx5_0 here is ibp24s0 or rocep24s0 there.
    Example: NCCL_IB_HCA=mlx5 on a host with ibp24s0
    Instead: NCCL_IB_HCA=ibp
    Source: NCCL user guide, NCCL_IB_HCA; src/transport/net_ib/init.cc
    """
    if not wanted.entries:
        return
    devices = _devices(host)
    if not any(wanted.chooses(name) for name in devices):
        message = "no RDMA device of this host fits: NCCL goes on over TCP"
        remedy = "write names that `rdma link` shows, or unset NCCL_IB_HCA"
        lines = (f"here: {listed(devices)}" if devices else "this host has no RDMA device",)
        yield report.better_unset(variable, message, remedy, evidence=lines)


def _devices(host: JudgedHost) -> tuple[str, ...]:
    return tuple(device.name for device in known(host.facts.rdma.devices))


@for_names("IB004", "warning", HCA, needs=("rdma",))
def ambiguous_adapter_prefix(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """An entry of NCCL_IB_HCA is the name of a device, and the beginning of others.

    Why: Without = an entry fits every name that begins with it: mlx5_1 also means mlx5_10 to mlx5_19. Adapters for
    storage join the network of the data, or are excluded with it.
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
                f"{escaped(word)} also fits {listed(extra)}",
                "begin the list with =, so that names must be equal",
                part=word,
                severity="error" if _are_unlike(host, word, extra) else None,
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


@for_names("IB005", "error", HCA, needs=("rdma",))
def no_such_port(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA names a port that the device does not have, or that is no number.

    Why: Text becomes 0, and no port has this number: the device is not used.
    Example: NCCL_IB_HCA=mlx5_0:2 on an adapter with one port
    Instead: NCCL_IB_HCA=mlx5_0:1
    Source: NCCL src/misc/utils.cc (parseStringList)
    """
    for entry in wanted.entries:
        ports = () if entry.port == -1 else all_ports(host)
        fitting = [one for one in ports if _fits(wanted, entry.name, one.device.name)]
        if fitting and all(one.port.number != entry.port for one in fitting):
            message = f"{escaped(entry.name)} has no port {entry.port}"
            remedy = f"write {escaped(fitting[0].name)}, or the name alone"
            lines = (f"here: {port_names(fitting)}",)
            yield report.about(variable, message, remedy, part=f"{entry.name}:", evidence=lines)


def _fits(wanted: NameList, entry: str, name: str) -> bool:
    return name == entry if wanted.exact else name.startswith(entry)


@for_names("IB008", "error", HCA)
def broken_adapter_list(_: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA has ^ or = where they are no operators, or no name at all.

    Why: They count at the beginning only, ^ first, and hold for the whole list; elsewhere they become part of a
    name. ^ without a name excludes every device.
    Example: NCCL_IB_HCA=^mlx5_0,^mlx5_3
    Instead: NCCL_IB_HCA=^=mlx5_0,mlx5_3
    Source: NCCL src/transport/net_ib/init.cc, src/misc/utils.cc (parseStringList)
    """
    for word in (entry.name for entry in wanted.entries if entry.name.startswith(("^", "="))):
        message = f"{word[0]} does not begin the list here: it becomes part of a name"
        remedy = "write ^=a,b or =a,b: the operators once, at the beginning"
        yield report.about(variable, message, remedy, part=word)
    if not wanted.entries and wanted.exclude:
        message = "the list has no name, and excludes every device"
        yield report.better_unset(variable, message, "name devices, or unset NCCL_IB_HCA")


@for_names("IB009", "error", HCA, needs=("rdma", "network"))
def interface_instead_of_adapter(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_IB_HCA has the name of a network interface.

    Why: It takes names of RDMA devices, as `rdma link` shows them.
    Example: NCCL_IB_HCA=ens1f0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA
    """
    devices = known(host.facts.rdma.devices)
    for entry in wanted.entries:
        if any(_fits(wanted, entry.name, device.name) for device in devices):
            continue
        if host.facts.network.interface(entry.name) is not None:
            own = [device.name for device in devices if entry.name in (or_none(device.netdevs) or ())]
            message = f"{escaped(entry.name)} is a network interface, no RDMA device"
            remedy = f"write {listed(own)}" if own else "write the RDMA device that `rdma link` shows for it"
            yield report.about(variable, message, remedy, part=entry.name)


@rule("IB010", "warning", needs=("rdma",))
def mixed_link_layers(host: JudgedHost) -> Results:
    """NCCL would use ports of InfiniBand and of RoCE together.

    Why: A connection between the two is refused ("incompatible device"). That happens when nodes pair their ports
    differently; Ethernet ports are often there for storage.
    Example: mlx5_0 (InfiniBand) and mlx5_4 (RoCE), and NCCL_IB_HCA not set
    Instead: NCCL_IB_HCA==mlx5_0,mlx5_1
    Source: NCCL src/transport/net_ib/connect.cc; https://github.com/NVIDIA/nccl/issues/2097
    """
    roce = [port for port in host.active_ports if port.roce]
    infiniband = [port for port in host.active_ports if not port.roce]
    if roce and infiniband:
        message = f"{len(infiniband)} ports of InfiniBand and {len(roce)} of RoCE are used together"
        remedy = f"choose one kind: export NCCL_IB_HCA=={_chosen(infiniband)}"
        yield about_ports(host, (*infiniband[:4], *roce[:4]), message, remedy)


def _chosen(ports: Iterable[Port]) -> str:
    return escaped(",".join(dict.fromkeys(port.device.name for port in ports)))


@rule("IB011", "warning", needs=("rdma",))
def slow_adapter_included(host: JudgedHost) -> Results:
    """One of the ports that NCCL would use is at most half as fast as another.

    Why: It is usually meant for storage or management. It draws channels, and slows the rings down that use it.
    Example: mlx5_4 with 100 Gb/s beside eight of 400 Gb/s
    Instead: NCCL_IB_HCA=^=mlx5_4
    Source: https://github.com/NVIDIA/nccl/issues/1412
    """
    rates = {port: known(port.port.rate_gbps) for port in host.active_ports} if len(host.active_ports) > 1 else {}
    slow = [port for port, rate in rates.items() if rate * 2 <= max(rates.values())]
    if slow:
        message = f"{port_names(slow)}: at most half as fast as the fastest port"
        remedy = f"leave it out: export NCCL_IB_HCA=^={_chosen(slow)}"
        yield about_ports(host, (*slow[:4], *[port for port in rates if port not in slow][:4]), message, remedy)


@rule("IB012", "warning", needs=("rdma",))
def too_many_adapters(host: JudgedHost) -> Results:
    """More than 32 ports fit.

    Why: NCCL keeps the first 32 that it meets, and does not tell about the others.
    Example: 40 virtual functions
    Instead: NCCL_IB_HCA with the ports that are meant
    Source: NCCL user guide, NCCL_IB_HCA
    """
    count = len(host.active_ports)
    if count > adapters.MOST:
        message = f"{count} ports are active and chosen; NCCL uses {adapters.MOST}"
        yield about_ports(host, host.active_ports, message, "name the ports that are meant in NCCL_IB_HCA")
