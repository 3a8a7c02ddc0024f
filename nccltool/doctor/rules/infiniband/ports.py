"""Ports of RDMA adapters: whether they are up, fast and free of errors, and may be opened by a process."""

from collections.abc import Iterator, Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, across, escaped, known, rule
from nccltool.doctor.rules.infiniband.base import HCA, about_ports, all_ports, port_line, port_lines, port_names
from nccltool.hosts.facts import RdmaPort, or_none

_ENOUGH_MEMLOCK = 512 << 20
"""UCX asks for that much: src/ucs/config/global_opts.c."""
_LEAST_MEMLOCK = 64 << 20
"""Buffers of one rank that are registered when it starts; from the reports in nccl-tests issue 206."""
_IPC_LOCK = 1 << 14


@rule("IB006", "error", needs=("rdma",))
def no_active_port(host: JudgedHost) -> Results:
    """None of the ports that NCCL may use is active.

    Why: NCCL uses only active ports: the rank falls back to TCP, while its peers use RDMA.
    Example: mlx5_0:1 is in state DOWN
    Instead: bring the link up; INIT means that no subnet manager has configured it
    Source: NCCL src/transport/net_ib/init.cc; user guide, troubleshooting, networking
    """
    ports = host.ports
    if ports and not any(port.active for port in ports):
        asked = host.variable(HCA) is not None
        message = "no port is active: NCCL falls back to TCP"
        remedy = "bring the link up: check the cable, switch, and subnet manager with ibstat and rdma link"
        yield about_ports(
            host, ports, message, remedy, host.if_several_nodes(unknown="error" if asked else "warning")
        )


@rule("IB007", "warning", needs=("rdma",))
def port_down(host: JudgedHost) -> Results:
    """Some of the ports that NCCL may use are not active.

    Why: The node has fewer rails than its peers, and the whole job runs at that node's bandwidth. If
    NCCL_IB_HCA does not name the ports, the inactive ones may be spares, so this is only a hint.
    Example: mlx5_3:1, one of eight, is DOWN
    Instead: repair the link or drain the node; NCCL_IGNORE_NET_MISMATCH=0 makes such a job fail
    Source: NCCL user guide, NCCL_IGNORE_NET_MISMATCH; https://github.com/NVIDIA/nccl/issues/1412
    """
    ports = host.ports
    down = [port for port in ports if not port.active]
    if down and len(down) < len(ports):
        message = f"inactive ports: {len(down)} of {len(ports)} ({port_names(down)})"
        remedy = "repair the link or list the intended ports in NCCL_IB_HCA"
        yield about_ports(host, down, message, remedy, None if host.variable(HCA) else "info")


@rule("IB052", "warning", needs=("rdma",))
def degraded_port(host: JudgedHost) -> Results:
    """A port is slower than others of the same card type or runs on a single lane.

    Why: A link that trained down can halve the bandwidth of the whole ring. Two lanes are normal for HDR100 and
    NDR200.
    Example: mlx5_3 runs at 200 Gb/s, and others of its type run at 400 Gb/s
    Instead: reseat or replace the cable and drain the node until the rate recovers
    Source: NCCL user guide, troubleshooting, networking (ibstat)
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
            others = f"; others of its type run at {fastest:g} Gb/s" if fastest > rate else " on one lane"
            message = f"{escaped(port.name)} runs at {rate:g} Gb/s{others}"
            remedy = "reseat or replace the cable; drain the node until the rate recovers"
            lines = (escaped(f"{port_line(port)}, {or_none(port.port.width) or '?'}, board {board}"),)
            half = rate * 2 <= fastest or port.port.width == "1X"  # and with it, half of the whole ring
            severity: Severity | None = "error" if half else None
            yield report.device(port.name, message, remedy, evidence=lines, severity=severity)


@rule("IB053", "warning", needs=("rdma",))
def no_subnet_manager(host: JudgedHost) -> Results:
    """An InfiniBand port has a link, but is waiting for the subnet manager.

    Why: Until the subnet manager assigns an address, the port remains in state INIT, and NCCL does not use it.
    Example: state is 2: INIT, and phys_state is 5: LinkUp
    Instead: systemctl start opensm or repair UFM
    Source: NCCL user guide, troubleshooting, networking
    """
    for port in host.ports:
        if not port.roce and known(port.port.state) == "INIT" and known(port.port.phys_state) == "LinkUp":
            message = f"{escaped(port.name)} waits for the subnet manager"
            remedy = "start this fabric's subnet manager (opensm, UFM), then check with sminfo"
            lines = (escaped(f"{port_line(port)}, SM LID {or_none(port.port.sm_lid) or 0}"),)
            severity: Severity | None = None if host.active_ports else "error"
            yield report.device(port.name, message, remedy, evidence=lines, severity=severity)


@rule("IB057", "error", needs=("rdma", "network"))
def rdma_without_ip(host: JudgedHost) -> Results:
    """Ports are active, but NCCL has no usable IP interface.

    Why: NCCL negotiates RDMA connections over TCP; without an IP interface, RDMA is unavailable ("No IP interface
    found"), and bootstrap fails too.
    Example: NCCL_SOCKET_IFNAME=eth0 on a host without eth0
    Instead: set NCCL_SOCKET_IFNAME to an interface of this host
    Source: NCCL src/transport/net_ib/init.cc
    """
    ports = host.active_ports
    if ports and host.interfaces.failure:
        variable = host.variable("NCCL_SOCKET_IFNAME") or host.variable("NCCL_COMM_ID")
        message = "RDMA needs an IP interface, and none matches"
        remedy = "set NCCL_SOCKET_IFNAME to an interface that is up"
        if variable:
            yield report.about(variable, message, remedy, evidence=port_lines(ports[:4]), part="")
        else:
            yield report.device(ports[0].name, message, remedy, evidence=port_lines(ports[:4]))


@across("IB059", "warning", needs=("rdma", "boot_id", "taken"))
def growing_error_counters(hosts: Sequence[JudgedHost]) -> Results:
    """A port's error counters rise between two snapshots of the same host.

    Why: The fabric drops or corrupts packets, so timeouts are not NCCL's fault. The check needs two snapshots,
    because the counters accumulate from boot.
    Example: symbol_error is 12 before a run and 340 after it
    Instead: replace the cable or transceiver; on RoCE check PFC and ECN
    Source: NCCL user guide, troubleshooting, networking (rdma statistic)
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
        later = "nccltool facts --output before.json, later --output after.json"
        yield Unknown(f"needs two snapshots of a host: {later}")


def _grown(first: JudgedHost, last: JudgedHost) -> Iterator[report.RuleFinding]:
    before = {port.name: _counters(port.port) for port in all_ports(first)}
    for port in all_ports(last):
        old = before.get(port.name, {})
        now = _counters(port.port)
        more = {name: count - old[name] for name, count in now.items() if count > old.get(name, count)}
        if more:
            message = f"{escaped(f'{port.name} of {last.facts.host}')}: {counted(len(more), 'error counter')} rose"
            remedy = "replace the cable or transceiver; on RoCE check PFC and ECN on the switch"
            lines = tuple(f"{escaped(name)} +{count}" for name, count in sorted(more.items()))
            yield report.device(port.name, message, remedy, evidence=lines)


def _counters(port: RdmaPort) -> dict[str, int]:
    """Counters that are numbers. Raises NotKnown when they could not be read."""
    found = ((one.name, or_none(one.value) or "") for one in known(port.counters))
    return {name: int(text) for name, text in found if text.isascii() and text.isdecimal() and len(text) < 21}


@rule("IB013", "error", needs=("rdma", "container"))
def verbs_device_missing(host: JudgedHost) -> Results:
    """The host has RDMA devices, but their files in /dev/infiniband are missing or cannot be opened.

    Why: Every container sees the devices in /sys, but the character devices exist only if they are passed in
    explicitly. NCCL falls back to TCP, with a warning at most.
    Example: docker run without --device=/dev/infiniband
    Instead: docker run --device=/dev/infiniband or use the Kubernetes RDMA device plugin
    Source: NCCL user guide, troubleshooting
    """
    ports = host.active_ports
    for device in dict.fromkeys(port.device for port in ports):
        path = f"/dev/infiniband/{known(device.uverbs)}"
        file = host.facts.container.device(path)
        if file is None or not (known(file.readable) and known(file.writable)):
            state = "is missing" if file is None else "cannot be opened"
            message = f"{escaped(path)} {state}: NCCL cannot use it"
            remedy = "docker run --device=/dev/infiniband; grant read and write permission on uverbs*"
            lines = port_lines(port for port in ports if port.device == device)
            severity = host.if_several_nodes(unknown="error")
            yield report.device(device.name, message, remedy, evidence=lines, severity=severity)


@rule("IB014", "error", needs=("rdma", "files"))
def verbs_library_missing(host: JudgedHost) -> Results:
    """Ports are active, but libibverbs.so.1 is not on the loader's path.

    Why: NCCL loads the library when it starts. Without it, the job falls back to TCP.
    Example: an image without the libibverbs1 package
    Instead: apt-get install libibverbs1 ibverbs-providers
    Source: NCCL src/misc/ibvsymbols.cc
    """
    ports = host.active_ports
    if not ports or known(host.facts.rdma.ibverbs):
        return
    file = host.facts.file("NCCL_IBVERBS_LIB")
    if host.get("NCCL_IBVERBS_LIB") and (file is None or known(file.exists)):
        if file is None:
            yield Unknown("unknown whether the loader finds the library in NCCL_IBVERBS_LIB")
        return
    message = "the loader finds no libibverbs: NCCL falls back to TCP"
    remedy = "in the image: apt-get install libibverbs1 ibverbs-providers (or rdma-core)"
    lines = port_lines(ports)
    severity = host.if_several_nodes(unknown="error")
    yield report.file("libibverbs.so.1", message, remedy, evidence=lines, severity=severity)


@rule("IB015", "error", needs=("rdma", "limits", "container"))
def little_locked_memory(host: JudgedHost) -> Results:
    """Ports are active, but a process may lock less than 64 MiB of memory, or little more.

    Why: RDMA locks the memory it uses. Memory registration fails: ibv_reg_mr or ibv_create_qp returns "Cannot
    allocate memory". Below 512 MiB, UCX switches RDMA off, and NCCL may reach the limit later. The limit applies
    per process; CAP_IPC_LOCK lifts it.
    Example: ulimit -l 64
    Instead: use ulimit -l unlimited, docker run --ulimit memlock=-1, or LimitMEMLOCK=infinity for slurmd and
    containerd
    Source: NCCL user guide, troubleshooting, networking; https://github.com/NVIDIA/nccl-tests/issues/206;
    https://github.com/openucx/ucx/pull/8085
    """
    limit = host.facts.limits.memlock_soft_bytes
    if limit is None or (isinstance(limit, int) and limit >= _ENOUGH_MEMLOCK) or not host.active_ports:
        return
    size = known(limit)
    if size is not None and not _may_lock(host):
        fails = size < _LEAST_MEMLOCK
        message = (
            f"a process may lock only {format_bytes(size)}: memory registration {'fails' if fails else 'may fail'}"
        )
        remedy = "ulimit -l unlimited; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity in the systemd unit"
        lines = (f"Max locked memory: {size} bytes",)
        # on one node, NCCL needs no adapter, but MPI and others open them
        severity = (
            host.if_several_nodes(one="warning", unknown="error") if fails else host.if_several_nodes("warning")
        )
        yield report.host(host.facts.host, message, remedy, evidence=lines, severity=severity)


def _may_lock(host: JudgedHost) -> bool:
    """Whether CAP_IPC_LOCK counts: that of a user namespace does not. Raises NotKnown."""
    container = host.facts.container
    return bool(known(container.capabilities) & _IPC_LOCK) and not known(container.user_namespace)
