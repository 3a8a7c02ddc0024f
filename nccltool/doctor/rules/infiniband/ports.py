"""Ports of RDMA adapters: whether they are up, fast and free of errors, and may be opened by a process."""

from collections.abc import Iterator, Sequence

from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import HCA, about_ports, all_ports, port_line, port_lines, port_names
from nccltool.hosts.facts import RdmaPort, or_none

_LEAST_MEMLOCK = 64 << 20
"""Buffers of one rank that are registered when it starts; from the reports in nccl-tests issue 206."""
_IPC_LOCK = 1 << 14


@rule("IB006", "error", needs=("rdma",))
def no_active_port(host: JudgedHost) -> Results:
    """No port that NCCL may use is active.

    Why: Only active ports are used; the rank goes on over TCP, while its peers use RDMA.
    Example: mlx5_0:1 is in the state DOWN
    Instead: bring the link up; INIT means that no subnet manager configured it
    Source: NCCL src/transport/net_ib/init.cc; user guide, troubleshooting of networks
    """
    ports = host.ports
    if ports and not any(port.active for port in ports):
        asked = host.variable(HCA) is not None
        message = f"none of {len(ports)} ports is active: NCCL goes on over TCP"
        remedy = "bring the link up: cable, switch, subnet manager; `ibstat`, `rdma link`"
        yield about_ports(
            host, ports, message, remedy, host.if_several_nodes(unknown="error" if asked else "warning")
        )


@rule("IB007", "warning", needs=("rdma",))
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
        message = f"{len(down)} of {len(ports)} ports are not active: {port_names(down)}"
        remedy = "repair the link, or name the ports that are meant in NCCL_IB_HCA"
        yield about_ports(host, down, message, remedy, None if host.variable(HCA) else "info")


@rule("IB052", "error", needs=("rdma",))
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
        fastest = best[board] if board else rate
        if rate < fastest or (not port.roce and known(port.port.width) == "1X"):
            others = f", others of its kind at {fastest:g} Gb/s" if fastest > rate else " on one lane"
            message = f"{escaped(port.name)} runs at {rate:g} Gb/s{others}"
            remedy = "reseat or replace the cable; drain the node until the rate is right"
            lines = (escaped(f"{port_line(port)}, {or_none(port.port.width) or '?'}, board {board}"),)
            yield report.device(port.name, message, remedy, evidence=lines)


@rule("IB053", "error", needs=("rdma",))
def no_subnet_manager(host: JudgedHost) -> Results:
    """A port of InfiniBand has a link, and waits for the subnet manager.

    Why: The subnet manager gives addresses; before that the port is in the state INIT, and NCCL does not use it.
    Example: state 2: INIT, phys_state 5: LinkUp
    Instead: systemctl start opensm, or repair UFM
    Source: NCCL user guide, troubleshooting of networks
    """
    for port in host.ports:
        if not port.roce and known(port.port.state) == "INIT" and known(port.port.phys_state) == "LinkUp":
            message = f"{escaped(port.name)} waits for the subnet manager"
            remedy = "start the subnet manager (opensm, UFM) of this fabric; `sminfo`"
            lines = (escaped(f"{port_line(port)}, SM LID {or_none(port.port.sm_lid) or 0}"),)
            yield report.device(port.name, message, remedy, evidence=lines)


@rule("IB057", "error", needs=("rdma", "network"))
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
        message = "RDMA needs an IP interface, and none fits"
        remedy = "name an interface that is up in NCCL_SOCKET_IFNAME"
        if variable:
            yield report.about(variable, message, remedy, evidence=port_lines(ports[:4]), part="")
        else:
            yield report.device(ports[0].name, message, remedy, evidence=port_lines(ports[:4]))


@across("IB059", "warning", needs=("rdma", "boot_id", "taken"))
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
        looks.setdefault((host.facts.host, or_none(host.facts.boot_id) or ""), []).append(host)
    for same in looks.values():
        if len(same) > 1:
            first, *_, last = sorted(same, key=lambda host: host.facts.taken)
            yield from _grown(first, last)
    counters = (_counters(port.port) for host in hosts for port in all_ports(host))
    if len(looks) == len(hosts) and any(any(each.values()) for each in counters):
        later = "nccltool facts --output before.json, and later after.json"
        yield Unknown(f"it takes two snapshots of a host: {later}")


def _grown(first: JudgedHost, last: JudgedHost) -> Iterator[report.RuleFinding]:
    before = {port.name: _counters(port.port) for port in all_ports(first)}
    for port in all_ports(last):
        old = before.get(port.name, {})
        now = _counters(port.port)
        more = {name: count - old[name] for name, count in now.items() if count > old.get(name, count)}
        if more:
            message = f"{escaped(f'{port.name} of {last.facts.host}')}: {len(more)} error counters have grown"
            remedy = "replace cable or transceiver; on RoCE check PFC and ECN of the switch"
            lines = tuple(f"{escaped(name)} +{count}" for name, count in sorted(more.items()))
            yield report.device(port.name, message, remedy, evidence=lines)


def _counters(port: RdmaPort) -> dict[str, int]:
    """Counters that are numbers. Raises NotKnown when they could not be read."""
    found = ((one.name, or_none(one.value) or "") for one in known(port.counters))
    return {name: int(text) for name, text in found if text.isascii() and text.isdecimal() and len(text) < 21}


@rule("IB013", "error", needs=("rdma", "container"))
def verbs_device_missing(host: JudgedHost) -> Results:
    """The host has RDMA devices, and their files in /dev/infiniband are missing or may not be opened.

    Why: /sys shows the devices in every container, the character devices are only there when somebody passes them
    on. NCCL goes on over TCP, with a warning at most.
    Example: docker run without --device=/dev/infiniband
    Instead: docker run --device=/dev/infiniband, or the RDMA device plugin of Kubernetes
    Source: NCCL user guide, troubleshooting
    """
    ports = host.active_ports
    for device in dict.fromkeys(port.device for port in ports):
        path = f"/dev/infiniband/{known(device.uverbs)}"
        file = host.facts.container.device(path)
        if file is None or not (known(file.readable) and known(file.writable)):
            state = "is missing" if file is None else "may not be opened"
            message = f"{escaped(path)} {state}: NCCL cannot use it"
            remedy = "pass /dev/infiniband to the container, and read and write permission on uverbs*"
            lines = port_lines(port for port in ports if port.device == device)
            severity = host.if_several_nodes(unknown="error")
            yield report.device(device.name, message, remedy, evidence=lines, severity=severity)


@rule("IB014", "error", needs=("rdma", "files"))
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
    file = host.facts.file("NCCL_IBVERBS_LIB")
    if host.get("NCCL_IBVERBS_LIB") and (file is None or known(file.exists)):
        if file is None:
            yield Unknown("whether the loader finds what NCCL_IBVERBS_LIB names is not known")
        return
    message = "the loader finds no libibverbs: NCCL goes on over TCP"
    remedy = "apt-get install libibverbs1 ibverbs-providers (or rdma-core) in the image"
    lines = port_lines(ports)
    severity = host.if_several_nodes(unknown="error")
    yield report.file("libibverbs.so.1", message, remedy, evidence=lines, severity=severity)


@rule("IB015", "error", needs=("rdma", "limits", "container"))
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
        message = f"a process may lock {format_bytes(size)}: registration of memory fails"
        remedy = "ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity in the unit"
        yield report.host(host.facts.host, message, remedy, evidence=(f"Max locked memory: {size} bytes",))


def _may_lock(host: JudgedHost) -> bool:
    """Whether CAP_IPC_LOCK counts: that of a user namespace does not. Raises NotKnown."""
    container = host.facts.container
    return bool(known(container.capabilities) & _IPC_LOCK) and not known(container.user_namespace)
