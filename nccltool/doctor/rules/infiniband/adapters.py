"""Which adapters and ports NCCL_IB_HCA chooses."""

from collections.abc import Iterable, Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, listed, rule
from nccltool.doctor.rules.infiniband.base import HCA, about_ports, all_ports, port_names
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port


def _devices(host: JudgedHost) -> tuple[str, ...]:
    return tuple(device.name for device in known(host.facts.rdma.devices))


@rule("IB003", "error", needs=("rdma",))
def no_such_adapter(host: JudgedHost) -> Results:
    """NCCL_IB_HCA fits no RDMA device of this host.

    Why: NCCL says "NET/IB : No device found" at the level INFO, and goes on over TCP. Devices are renamed by udev:
    mlx5_0 here is ibp24s0 or rocep24s0 there.
    Example: NCCL_IB_HCA=mlx5 on a host with ibp24s0
    Instead: NCCL_IB_HCA=ibp
    Source: NCCL user guide, NCCL_IB_HCA; src/transport/net_ib/init.cc
    """
    variable, wanted = host.variable(HCA), host.settings.names(HCA)
    if variable is None or not wanted or not wanted.entries:
        return
    devices = _devices(host)
    if not any(wanted.chooses(name) for name in devices):
        yield report.better_unset(
            variable,
            "no RDMA device of this host fits: NCCL goes on over TCP",
            "write names that `rdma link` shows, or unset NCCL_IB_HCA",
            evidence=(f"here: {listed(devices)}" if devices else "this host has no RDMA device",),
        )


@rule("IB004", "warning", needs=("rdma",))
def ambiguous_adapter_prefix(host: JudgedHost) -> Results:
    """An entry of NCCL_IB_HCA is the name of a device, and the beginning of others.

    Why: Without = an entry fits every name that begins with it: mlx5_1 also means mlx5_10 to mlx5_19. Adapters for
    storage join the network of the data, or are excluded with it.
    Example: NCCL_IB_HCA=mlx5_1 on a host with mlx5_10
    Instead: NCCL_IB_HCA==mlx5_1
    Source: NCCL user guide, NCCL_IB_HCA; https://github.com/NVIDIA/nccl/pull/236
    """
    variable, wanted = host.variable(HCA), host.settings.names(HCA)
    if variable is None or not wanted or wanted.exact:
        return
    entries = {entry.name for entry in wanted.entries}
    devices = _devices(host)
    for word in sorted(entries.intersection(devices)):
        extra = [name for name in devices if name.startswith(word) and name not in entries]
        if extra:
            every = entries <= set(devices)
            value = variable.value.removeprefix("^")
            yield report.about(
                variable,
                f"{escaped(word)} also fits {listed(extra)}",
                "begin the list with =, so that names must be equal",
                severity="error" if _are_unlike(host, word, extra) else None,
                fix=report.export(HCA, f"{'^' if wanted.exclude else ''}={value}") if every else (),
                part=word,
            )


def _are_unlike(host: JudgedHost, name: str, extra: Sequence[str]) -> bool:
    """Whether these devices have another rate or layer than `name`."""
    kinds = {
        (or_none(port.port.rate_gbps), or_none(port.port.link_layer))
        for port in adapters.ports(host.facts.rdma)
        if port.device.name in (name, *extra)
    }
    return len(kinds) > 1


@rule("IB005", "error", needs=("rdma",))
def no_such_port(host: JudgedHost) -> Results:
    """NCCL_IB_HCA names a port that the device does not have, or that is no number.

    Why: Text becomes 0, and no port has this number: the device is not used.
    Example: NCCL_IB_HCA=mlx5_0:2 on an adapter with one port
    Instead: NCCL_IB_HCA=mlx5_0:1
    Source: NCCL src/misc/utils.cc (parseStringList)
    """
    variable, wanted = host.variable(HCA), host.settings.names(HCA)
    if variable is None or not wanted:
        return
    for entry in wanted.entries:
        fitting = (
            [] if entry.port == -1 else [one for one in all_ports(host) if _fits(wanted.exact, entry.name, one)]
        )
        if fitting and all(one.port.number != entry.port for one in fitting):
            yield report.about(
                variable,
                f"{escaped(entry.name)} has no port {entry.port}",
                f"write {escaped(fitting[0].name)}, or the name alone",
                evidence=(f"here: {port_names(fitting)}",),
                part=f"{entry.name}:",
            )


def _fits(exact: bool, name: str, port: Port) -> bool:
    return port.device.name == name if exact else port.device.name.startswith(name)


@rule("IB008", "error")
def broken_adapter_list(host: JudgedHost) -> Results:
    """NCCL_IB_HCA has ^ or = where they are no operators, or no name at all.

    Why: They count at the beginning only, ^ first, and hold for the whole list; elsewhere they become part of a
    name. ^ without a name excludes every device.
    Example: NCCL_IB_HCA=^mlx5_0,^mlx5_3
    Instead: NCCL_IB_HCA=^=mlx5_0,mlx5_3
    Source: NCCL src/transport/net_ib/init.cc, src/misc/utils.cc (parseStringList)
    """
    variable, wanted = host.variable(HCA), host.settings.names(HCA)
    if variable is None or not wanted:
        return
    wrong = [entry.name for entry in wanted.entries if entry.name.startswith(("^", "="))]
    for word in wrong:
        yield report.about(
            variable,
            f"{word[0]} does not begin the list here: it becomes part of a name",
            "write ^=a,b or =a,b: the operators once, at the beginning",
            part=word,
        )
    if not wanted.entries and wanted.exclude:
        yield report.better_unset(
            variable, "the list has no name, and excludes every device", "name devices, or unset NCCL_IB_HCA"
        )


@rule("IB009", "error", needs=("rdma", "network"))
def interface_instead_of_adapter(host: JudgedHost) -> Results:
    """NCCL_IB_HCA has the name of a network interface.

    Why: It takes names of RDMA devices, as `rdma link` shows them.
    Example: NCCL_IB_HCA=ens1f0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA
    """
    variable, wanted = host.variable(HCA), host.settings.names(HCA)
    if variable is None or not wanted:
        return
    devices = known(host.facts.rdma.devices)
    for entry in wanted.entries:
        if any(_begins(device.name, entry.name, wanted.exact) for device in devices):
            continue
        if host.facts.network.interface(entry.name) is not None:
            own = [device.name for device in devices if entry.name in (or_none(device.netdevs) or ())]
            yield report.about(
                variable,
                f"{escaped(entry.name)} is a network interface, no RDMA device",
                f"write {listed(own)}" if own else "write the RDMA device that `rdma link` shows for it",
                part=entry.name,
            )


def _begins(name: str, entry: str, exact: bool) -> bool:
    return name == entry if exact else name.startswith(entry)


@rule("IB010", "warning", needs=("rdma",))
def mixed_link_layers(host: JudgedHost) -> Results:
    """NCCL would use ports of InfiniBand and of RoCE together.

    Why: A connection between the two is refused ("incompatible device"). That happens when nodes pair their ports
    differently; Ethernet ports are often there for storage.
    Example: mlx5_0 (InfiniBand) and mlx5_4 (RoCE), and NCCL_IB_HCA not set
    Instead: NCCL_IB_HCA==mlx5_0,mlx5_1
    Source: NCCL src/transport/net_ib/connect.cc; https://github.com/NVIDIA/nccl/issues/2097
    """
    ports = host.active_ports
    layers = {roce: [port for port in ports if port.roce is roce] for roce in (True, False)}
    if layers[True] and layers[False]:
        yield about_ports(
            host,
            (*layers[False][:4], *layers[True][:4]),
            f"{len(layers[False])} ports of InfiniBand and {len(layers[True])} of RoCE are used together",
            f"choose one kind: export NCCL_IB_HCA=={_chosen(layers[False])}",
        )


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
    ports = host.active_ports
    rates = [known(port.port.rate_gbps) for port in ports] if len(ports) > 1 else []
    slow = [port for port, rate in zip(ports, rates, strict=False) if rate * 2 <= max(rates)]
    if slow:
        fast = [port for port, rate in zip(ports, rates, strict=True) if rate * 2 > max(rates)]
        yield about_ports(
            host,
            (*slow[:4], *fast[:4]),
            f"{port_names(slow)}: at most half as fast as the fastest port",
            f"leave it out: export NCCL_IB_HCA=^={_chosen(slow)}",
        )


@rule("IB012", "warning", needs=("rdma",))
def too_many_adapters(host: JudgedHost) -> Results:
    """More than 32 ports fit.

    Why: NCCL keeps the first 32 that it meets, and does not tell about the others.
    Example: 40 virtual functions
    Instead: NCCL_IB_HCA with the ports that are meant
    Source: NCCL user guide, NCCL_IB_HCA
    """
    ports = host.active_ports
    if len(ports) > adapters.MOST:
        yield about_ports(
            host,
            ports,
            f"{len(ports)} ports are active and chosen; NCCL uses {adapters.MOST}",
            "name the ports that are meant in NCCL_IB_HCA",
        )
