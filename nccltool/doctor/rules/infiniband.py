"""RDMA devices and their ports: which ones NCCL takes, whether they work, and what keeps NCCL from them."""

from collections.abc import Iterable, Iterator, Sequence

from nccltool.core.findings import Severity, Subject
from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, listed, rule
from nccltool.hosts.facts import RdmaPort, or_none
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.settings import Variable

_HCA = "NCCL_IB_HCA"
_FAST_GBPS = 100
_LEAST_MEMLOCK = 64 << 20
"""Buffers of one rank that are registered when it starts; from the reports in nccl-tests issue 206."""
_IPC_LOCK = 1 << 14


def _names(ports: Iterable[Port], most: int = 8) -> str:
    return listed([port.name for port in ports], most)


def _devices(host: JudgedHost) -> tuple[str, ...]:
    return tuple(device.name for device in known(host.facts.rdma.devices))


def _lines(ports: Iterable[Port]) -> tuple[str, ...]:
    """Evidence: state, rate and layer of each port."""
    return tuple(escaped(_line(port)) for port in list(ports)[:8])


def _line(port: Port) -> str:
    rate = or_none(port.port.rate_gbps)
    speed = "rate not known" if rate is None else f"{rate:g} Gb/s"
    words = (or_none(port.port.link_layer), or_none(port.port.state), or_none(port.port.phys_state), speed)
    return f"{port.name}: {', '.join(word for word in words if word)}"


def _about_ports(
    host: JudgedHost, ports: Sequence[Port], message: str, remedy: str, severity: Severity | None = None
) -> report.RuleFinding:
    """A finding about the list that chose these ports, else about the first of them."""
    variable = host.variable(_HCA)
    if variable is not None:
        return report.about(variable, message, evidence=_lines(ports), remedy=remedy, severity=severity)
    return report.device(ports[0].name, message, remedy=remedy, evidence=_lines(ports), severity=severity)


@rule("IB001", "rdma-switched-off", "warning", needs=("rdma", "plugins"))
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
            f"RDMA is switched off, and {_names(lost)} are active",
            evidence=_lines(lost),
            severity=host.if_several_nodes("error", "info") if fast else None,
        )


def _net_plugins(host: JudgedHost) -> tuple[str, ...]:
    """Network plugins that NCCL would load, as far as that is known."""
    if isinstance(host.facts.plugins, Unknown):
        return ()
    return tuple(one.library.path for one in adapters.net_plugins(host.settings, host.facts.plugins))


@rule("IB002", "switch-of-another-network", "info", needs=("plugins",))
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
    found = adapters.net_plugins(host.settings, host.facts.plugins)
    if found:
        yield report.about(
            variable,
            "a network plugin is loaded, and does not look at this switch",
            evidence=tuple(escaped(one.library.path) for one in found[:4]),
            remedy="for TCP: export NCCL_NET=Socket; for the built-in network: export NCCL_NET_PLUGIN=none",
        )


@rule("IB003", "no-such-adapter", "error", needs=("rdma",))
def no_such_adapter(host: JudgedHost) -> Results:
    """NCCL_IB_HCA fits no RDMA device of this host.

    Why: NCCL says "NET/IB : No device found" at the level INFO, and goes on over TCP. Devices are renamed by udev:
    mlx5_0 here is ibp24s0 or rocep24s0 there.
    Example: NCCL_IB_HCA=mlx5 on a host with ibp24s0
    Instead: NCCL_IB_HCA=ibp
    Source: NCCL user guide, NCCL_IB_HCA; src/transport/net_ib/init.cc
    """
    variable, wanted = host.variable(_HCA), host.settings.names(_HCA)
    if variable is None or not wanted or not wanted.entries:
        return
    devices = _devices(host)
    if not any(wanted.chooses(name) for name in devices):
        yield report.better_unset(
            variable,
            "no RDMA device of this host fits: NCCL goes on over TCP",
            remedy="write names that `rdma link` shows, or unset NCCL_IB_HCA",
            evidence=(f"here: {listed(devices)}" if devices else "this host has no RDMA device",),
        )


@rule("IB004", "ambiguous-adapter-prefix", "warning", needs=("rdma",))
def ambiguous_adapter_prefix(host: JudgedHost) -> Results:
    """An entry of NCCL_IB_HCA is the name of a device, and the beginning of others.

    Why: Without = an entry fits every name that begins with it: mlx5_1 also means mlx5_10 to mlx5_19. Adapters for
    storage join the network of the data, or are excluded with it.
    Example: NCCL_IB_HCA=mlx5_1 on a host with mlx5_10
    Instead: NCCL_IB_HCA==mlx5_1
    Source: NCCL user guide, NCCL_IB_HCA; https://github.com/NVIDIA/nccl/pull/236
    """
    variable, wanted = host.variable(_HCA), host.settings.names(_HCA)
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
                part=word,
                remedy="begin the list with =, so that names must be equal",
                severity="error" if _are_unlike(host, word, extra) else None,
                fix=report.export(_HCA, f"{'^' if wanted.exclude else ''}={value}") if every else (),
            )


def _are_unlike(host: JudgedHost, name: str, extra: Sequence[str]) -> bool:
    """Whether these devices have another rate or layer than `name`."""
    kinds = {
        (or_none(port.port.rate_gbps), or_none(port.port.link_layer))
        for port in adapters.ports(host.facts.rdma)
        if port.device.name in (name, *extra)
    }
    return len(kinds) > 1


@rule("IB005", "no-such-port", "error", needs=("rdma",))
def no_such_port(host: JudgedHost) -> Results:
    """NCCL_IB_HCA names a port that the device does not have, or that is no number.

    Why: Text becomes 0, and no port has this number: the device is not used.
    Example: NCCL_IB_HCA=mlx5_0:2 on an adapter with one port
    Instead: NCCL_IB_HCA=mlx5_0:1
    Source: NCCL src/misc/utils.cc (parseStringList)
    """
    variable, wanted = host.variable(_HCA), host.settings.names(_HCA)
    if variable is None or not wanted:
        return
    for entry in wanted.entries:
        fitting = (
            [] if entry.port == -1 else [one for one in _listed(host) if _fits(wanted.exact, entry.name, one)]
        )
        if fitting and all(one.port.number != entry.port for one in fitting):
            yield report.about(
                variable,
                f"{escaped(entry.name)} has no port {entry.port}",
                part=f"{entry.name}:",
                evidence=(f"here: {_names(fitting)}",),
                remedy=f"write {escaped(fitting[0].name)}, or the name alone",
            )


def _listed(host: JudgedHost) -> tuple[Port, ...]:
    return tuple(
        Port(device=one, port=port) for one in known(host.facts.rdma.devices) for port in known(one.ports)
    )


def _fits(exact: bool, name: str, port: Port) -> bool:
    return port.device.name == name if exact else port.device.name.startswith(name)


@rule("IB006", "no-active-port", "error", needs=("rdma",))
def no_active_port(host: JudgedHost) -> Results:
    """No port that NCCL may use is active.

    Why: Only active ports are used; the rank goes on over TCP, while its peers use RDMA.
    Example: mlx5_0:1 is in the state DOWN
    Instead: bring the link up; INIT means that no subnet manager configured it
    Source: NCCL src/transport/net_ib/init.cc; user guide, troubleshooting of networks
    """
    ports = host.ports
    if ports and not any(port.active for port in ports):
        asked = host.variable(_HCA) is not None
        yield _about_ports(
            host,
            ports,
            f"none of {len(ports)} ports is active: NCCL goes on over TCP",
            "bring the link up: cable, switch, subnet manager; `ibstat`, `rdma link`",
            host.if_several_nodes("error", "info", "error" if asked else "warning"),
        )


@rule("IB007", "port-down", "warning", needs=("rdma",))
def port_down(host: JudgedHost) -> Results:
    """Some ports that NCCL may use are active, and others are not.

    Why: The node has fewer rails than its peers: the whole job runs at its bandwidth. Where NCCL_IB_HCA does not
    name the ports, the others may be spare ones: this is a hint only.
    Example: mlx5_3:1 of eight is DOWN
    Instead: repair the link or drain the node; NCCL_IGNORE_NET_MISMATCH=0 makes such a job fail
    Source: NCCL user guide, NCCL_IGNORE_NET_MISMATCH; https://github.com/NVIDIA/nccl/issues/1412
    """
    ports = host.ports
    down = [port for port in ports if not port.active]
    if down and len(down) < len(ports):
        yield _about_ports(
            host,
            down,
            f"{len(down)} of {len(ports)} ports are not active: {_names(down)}",
            "repair the link, or name the ports that are meant in NCCL_IB_HCA",
            None if host.variable(_HCA) else "info",
        )


@rule("IB008", "broken-adapter-list", "error")
def broken_adapter_list(host: JudgedHost) -> Results:
    """NCCL_IB_HCA has ^ or = where they are no operators, or no name at all.

    Why: They count at the beginning only, ^ first, and hold for the whole list; elsewhere they become part of a
    name. ^ without a name excludes every device.
    Example: NCCL_IB_HCA=^mlx5_0,^mlx5_3
    Instead: NCCL_IB_HCA=^=mlx5_0,mlx5_3
    Source: NCCL src/transport/net_ib/init.cc, src/misc/utils.cc (parseStringList)
    """
    variable, wanted = host.variable(_HCA), host.settings.names(_HCA)
    if variable is None or not wanted:
        return
    wrong = [entry.name for entry in wanted.entries if entry.name.startswith(("^", "="))]
    for word in wrong:
        yield report.about(
            variable,
            f"{word[0]} does not begin the list here: it becomes part of a name",
            part=word,
            remedy="write ^=a,b or =a,b: the operators once, at the beginning",
        )
    if not wanted.entries and wanted.exclude:
        yield report.better_unset(
            variable,
            "the list has no name, and excludes every device",
            remedy="name devices, or unset NCCL_IB_HCA",
        )


@rule("IB009", "interface-instead-of-adapter", "error", needs=("rdma", "network"))
def interface_instead_of_adapter(host: JudgedHost) -> Results:
    """NCCL_IB_HCA has the name of a network interface.

    Why: It takes names of RDMA devices, as `rdma link` shows them.
    Example: NCCL_IB_HCA=ens1f0
    Instead: NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_IB_HCA
    """
    variable, wanted = host.variable(_HCA), host.settings.names(_HCA)
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
                part=entry.name,
                remedy=f"write {listed(own)}" if own else "write the RDMA device that `rdma link` shows for it",
            )


def _begins(name: str, entry: str, exact: bool) -> bool:
    return name == entry if exact else name.startswith(entry)


@rule("IB010", "mixed-link-layers", "warning", needs=("rdma",))
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
        yield _about_ports(
            host,
            (*layers[False][:4], *layers[True][:4]),
            f"{len(layers[False])} ports of InfiniBand and {len(layers[True])} of RoCE are used together",
            f"choose one kind: export NCCL_IB_HCA=={_chosen(layers[False])}",
        )


def _chosen(ports: Iterable[Port]) -> str:
    return escaped(",".join(dict.fromkeys(port.device.name for port in ports)))


@rule("IB011", "slow-adapter-included", "warning", needs=("rdma",))
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
        yield _about_ports(
            host,
            (*slow[:4], *fast[:4]),
            f"{_names(slow)}: at most half as fast as the fastest port",
            f"leave it out: export NCCL_IB_HCA=^={_chosen(slow)}",
        )


@rule("IB012", "too-many-adapters", "warning", needs=("rdma",))
def too_many_adapters(host: JudgedHost) -> Results:
    """More than 32 ports fit.

    Why: NCCL keeps the first 32 that it meets, and does not tell about the others.
    Example: 40 virtual functions
    Instead: NCCL_IB_HCA with the ports that are meant
    Source: NCCL user guide, NCCL_IB_HCA
    """
    ports = host.active_ports
    if len(ports) > adapters.MOST:
        yield _about_ports(
            host,
            ports,
            f"{len(ports)} ports are active and chosen; NCCL uses {adapters.MOST}",
            "name the ports that are meant in NCCL_IB_HCA",
        )


@rule("IB013", "verbs-device-missing", "error", needs=("rdma", "container"))
def verbs_device_missing(host: JudgedHost) -> Results:
    """The host has RDMA devices, and their files in /dev/infiniband are missing or may not be opened.

    Why: /sys shows the devices in every container, the character devices are only there when somebody passes them
    on. NCCL goes on over TCP, with a warning at most.
    Example: docker run without --device=/dev/infiniband
    Instead: docker run --device=/dev/infiniband, or the RDMA device plugin of Kubernetes
    Source: NCCL user guide, troubleshooting
    """
    ports = host.active_ports
    for name in dict.fromkeys(port.device.name for port in ports):
        device = next(port.device for port in ports if port.device.name == name)
        path = f"/dev/infiniband/{known(device.uverbs)}"
        file, path = host.facts.container.device(path), escaped(path)
        if file is None or not (known(file.readable) and known(file.writable)):
            yield report.device(
                name,
                f"{path} {'is missing' if file is None else 'may not be opened'}: NCCL cannot use it",
                remedy="pass /dev/infiniband to the container, and read and write permission on uverbs*",
                evidence=_lines(port for port in ports if port.device.name == name),
                severity=host.if_several_nodes("error", "info", "error"),
            )


@rule("IB014", "verbs-library-missing", "error", needs=("rdma", "files"))
def verbs_library_missing(host: JudgedHost) -> Results:
    """Ports are active, and libibverbs.so.1 is not on the loader's path.

    Why: NCCL loads the library when it starts. Without it the job goes on over TCP.
    Example: an image without the package libibverbs1
    Instead: apt-get install libibverbs1 ibverbs-providers
    Source: NCCL src/misc/ibvsymbols.cc
    """
    ports = host.active_ports
    if not ports or known(host.facts.rdma.ibverbs):
        return
    variable = host.variable("NCCL_IBVERBS_LIB")
    file = host.facts.file("NCCL_IBVERBS_LIB")
    if variable and variable.value and (file is None or known(file.exists)):
        if file is None:
            yield Unknown("whether the loader finds what NCCL_IBVERBS_LIB names is not known")
        return
    yield report.file(
        "libibverbs.so.1",
        "the loader finds no libibverbs: NCCL goes on over TCP",
        remedy="apt-get install libibverbs1 ibverbs-providers (or rdma-core) in the image",
        evidence=_lines(ports),
        severity=host.if_several_nodes("error", "info", "error"),
    )


@rule("IB015", "little-locked-memory", "error", needs=("rdma", "limits", "container"))
def little_locked_memory(host: JudgedHost) -> Results:
    """A process may lock less than 64 MiB of memory, and ports are active.

    Why: Memory that RDMA uses is locked. Registration fails with "Cannot allocate memory" from ibv_reg_mr or
    ibv_create_qp. The limit holds for each process; CAP_IPC_LOCK lifts it.
    Example: ulimit -l 64
    Instead: ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity for slurmd and containerd
    Source: NCCL user guide, troubleshooting of networks; https://github.com/NVIDIA/nccl-tests/issues/206
    """
    limit = host.facts.limits.memlock_soft_bytes
    if limit is None or (isinstance(limit, int) and limit >= _LEAST_MEMLOCK) or not host.active_ports:
        return
    size = known(limit)
    if size is not None and size < _LEAST_MEMLOCK and not _may_lock(host):
        yield report.host(
            host.facts.host,
            f"a process may lock {format_bytes(size)}: registration of memory fails",
            remedy="ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity in the unit",
            evidence=(f"Max locked memory: {size} bytes",),
        )


def _may_lock(host: JudgedHost) -> bool:
    """Whether CAP_IPC_LOCK counts: that of a user namespace does not. Raises NotKnown."""
    container = host.facts.container
    return bool(known(container.capabilities) & _IPC_LOCK) and not known(container.user_namespace)


@rule("IB052", "degraded-port", "error", needs=("rdma",))
def degraded_port(host: JudgedHost) -> Results:
    """A port is slower than others of the same card type, or runs on one lane.

    Why: A link that trained down halves the bandwidth of the whole ring. Two lanes are no fault by themselves:
    HDR100 and NDR200 are made so.
    Example: mlx5_3 with 200 Gb/s, the others of its kind with 400 Gb/s
    Instead: reseat the cable, drain the node
    Source: NCCL user guide, troubleshooting of networks (ibstat)
    """
    ports = host.active_ports
    best: dict[str, float] = {}
    for port in ports:
        board, rate = or_none(port.device.board_id), or_none(port.port.rate_gbps)
        if board and rate is not None:
            best[board] = max(best.get(board, 0.0), rate)
    for port in ports:
        board, rate = known(port.device.board_id), known(port.port.rate_gbps)
        if (board and rate < best[board]) or (not port.roce and known(port.port.width) == "1X"):
            yield report.device(
                port.name,
                f"{escaped(port.name)} runs at {rate:g} Gb/s" + _of_others(best.get(board, rate), rate),
                remedy="reseat or replace the cable; drain the node until the rate is right",
                evidence=(escaped(f"{_line(port)}, {or_none(port.port.width) or '?'}, board {board}"),),
            )


def _of_others(best: float, rate: float) -> str:
    return f", others of its kind at {best:g} Gb/s" if best > rate else " on one lane"


@rule("IB053", "no-subnet-manager", "error", needs=("rdma",))
def no_subnet_manager(host: JudgedHost) -> Results:
    """A port of InfiniBand has a link, and waits for the subnet manager.

    Why: The subnet manager gives addresses; before that the port is in the state INIT, and NCCL does not use it.
    Example: state 2: INIT, phys_state 5: LinkUp
    Instead: systemctl start opensm, or repair UFM
    Source: NCCL user guide, troubleshooting of networks
    """
    for port in host.ports:
        if port.roce or known(port.port.state) != "INIT":
            continue
        if known(port.port.phys_state) == "LinkUp":
            yield report.device(
                port.name,
                f"{escaped(port.name)} waits for the subnet manager",
                remedy="start the subnet manager (opensm, UFM) of this fabric; `sminfo`",
                evidence=(escaped(f"{_line(port)}, SM LID {or_none(port.port.sm_lid) or 0}"),),
            )


def _net(host: JudgedHost) -> tuple[Variable | None, str]:
    variable = host.variable("NCCL_NET")
    return variable, variable.value.lower() if variable else ""


@rule("IB054", "rdma-asked-for-in-vain", "error", needs=("rdma",))
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
            remedy="bring a port up, or unset NCCL_NET",
            evidence=_lines(ports) or ("there is no port that NCCL could use",),
        )


@rule("IB055", "tcp-forced", "warning", needs=("rdma",))
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
            f"TCP is forced, and {_names(lost)} are active",
            remedy="unset NCCL_NET",
            evidence=_lines(lost),
        )


@rule("IB056", "only-network-disabled", "error")
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
            part=variable.value,
            evidence=(f"{escaped(other.origin)}: NCCL_IB_DISABLE={escaped(other.value[:40])}",),
            remedy="unset NCCL_IB_DISABLE for RDMA, or NCCL_NET for TCP",
            fix=report.unset(other),
        )


@rule("IB057", "rdma-without-ip", "error", needs=("rdma", "network"))
def rdma_without_ip(host: JudgedHost) -> Results:
    """Ports are active, and there is no IP interface that NCCL may use.

    Why: RDMA connections are agreed upon over TCP; without an interface NCCL gives RDMA up ("No IP interface
    found"), and bootstrap fails too.
    Example: NCCL_SOCKET_IFNAME=eth0 on a host without eth0
    Instead: NCCL_SOCKET_IFNAME with an interface of this host
    Source: NCCL src/transport/net_ib/init.cc
    """
    ports = host.active_ports
    if ports and host.interfaces.failure:
        variable = host.variable("NCCL_SOCKET_IFNAME") or host.variable("NCCL_COMM_ID")
        message, remedy = (
            "RDMA needs an IP interface, and none fits",
            "name an interface that is up in NCCL_SOCKET_IFNAME",
        )
        if variable:
            yield report.about(variable, message, evidence=_lines(ports[:4]), remedy=remedy)
        else:
            subject = Subject(kind="device", name=ports[0].name)
            yield report.RuleFinding(subject=subject, message=message, evidence=_lines(ports[:4]), remedy=remedy)


@across("IB059", "growing-error-counters", "warning", needs=("rdma", "boot_id", "taken"))
def growing_error_counters(hosts: Sequence[JudgedHost]) -> Results:
    """Error counters of a port are higher in a later snapshot of the same host.

    Why: The fabric drops or corrupts packets; time-outs are then no matter of NCCL. It takes two looks: the
    numbers alone count from the last boot on.
    Example: symbol_error 12 before a run, 340 after it
    Instead: replace the cable or transceiver; on RoCE check PFC and ECN
    Source: NCCL user guide, troubleshooting of networks (rdma statistic)
    """
    looks: dict[tuple[str, str], list[JudgedHost]] = {}
    for host in hosts:
        boot = host.facts.boot_id
        looks.setdefault((host.facts.host, "" if isinstance(boot, Unknown) else boot), []).append(host)
    for same in looks.values():
        if len(same) > 1:
            first, *_, last = sorted(same, key=lambda host: host.facts.taken)
            yield from _grown(first, last)
    if all(len(same) == 1 for same in looks.values()) and any(_has_errors(host) for host in hosts):
        yield Unknown(
            "it takes two snapshots of a host: nccltool facts --output before.json, and later after.json"
        )


def _grown(first: JudgedHost, last: JudgedHost) -> Iterator[report.RuleFinding]:
    before = {port.name: _counters(port.port) for port in _listed(first)}
    for port in _listed(last):
        old = before.get(port.name, {})
        more = {
            name: count - old[name] for name, count in _counters(port.port).items() if count > old.get(name, count)
        }
        if more:
            yield report.device(
                port.name,
                f"{escaped(f'{port.name} of {last.facts.host}')}: {len(more)} error counters have grown",
                remedy="replace cable or transceiver; on RoCE check PFC and ECN of the switch",
                evidence=tuple(f"{escaped(name)} +{count}" for name, count in sorted(more.items())),
            )


def _counters(port: RdmaPort) -> dict[str, int]:
    """Counters that are numbers. Raises NotKnown when they could not be read."""
    found = ((one.name, or_none(one.value) or "") for one in known(port.counters))
    return {name: int(text) for name, text in found if text.isascii() and text.isdecimal() and len(text) < 21}


def _has_errors(host: JudgedHost) -> bool:
    return any(count for port in _listed(host) for count in _counters(port.port).values())
