"""NCCL over TCP: how the ranks meet, how fast the interfaces are, threads, sockets and their buffers."""

import ipaddress
import re
from collections.abc import Iterator

from nccltool.core.findings import Severity
from nccltool.core.text import counted, escaped
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Variable,
    for_number,
    for_text,
    for_value,
    is_unspecified,
    rule,
)
from nccltool.doctor.rules.interfaces.base import FOR_SOCKETS, IFNAME, interface_of
from nccltool.hosts.facts import Interface, NotKnown, known, numbers, or_none
from nccltool.hosts.nccl import interfaces, values
from nccltool.hosts.nccl.interfaces import InterfaceChoice

_PORTS_PER_RANK = 64
"""Listeners of one rank with 16 channels and a few communicators; our own estimate."""
_MANY_RANKS = 256
"""No node has more."""
_RETRIES, _RETRY_MS = 34, 100
_COMM_ID = re.compile(r"[^\s:,\[\]]+:\d+|\[[0-9A-Fa-f:.]+(%[^\]]+)?\]:\d+")
_SLOW_MBPS = 10_000
_THREADS, _SOCKETS = "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"
_MOST_THREADS, _MOST_SOCKETS = 16, 64
"""MAX_THREADS and MAX_SOCKETS of src/transport/net_socket.cc."""
_BY_VENDOR = {"0x1d0f": (2, 8), "0x1ae0": (4, 1)}
"""(threads, sockets of each) that NCCL takes by itself on ENA and gVNIC."""


@for_value("NETIF022", "error", "NCCL_COMM_ID")
def fixed_comm_id(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_COMM_ID is malformed, is a loopback address in a multi-node job, or is used with torch.

    Why: The variable sets the address that rank 0 listens on. Initialization fails if it is malformed. torch
    creates an id for each communicator, so the second communicator finds the port in use.
    Example: NCCL_COMM_ID=node1
    Instead: unset NCCL_COMM_ID; for programs without a launcher, set NCCL_COMM_ID=10.0.0.5:23456
    Source: NCCL src/bootstrap.cc, src/init.cc (ncclCommInitRankDev)
    """
    why = ""
    if not _COMM_ID.fullmatch(text):
        why = "is not <address>:<port>: initialization fails"
    elif any(host.get(name) for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS")):
        why = "cannot be used with torch, which creates an id for each communicator"
    elif _is_loopback(text) and host.nodes != 1:
        why = "is a loopback address: other nodes connect to themselves"
    elif not 0 < int(text.rpartition(":")[2].partition("%")[0] or 0) < 2**16:
        why = "has no port from 1 to 65535, to which the other ranks could connect"
    elif is_unspecified(text.rpartition(":")[0].strip("[]")):
        why = "is no address of a host: each rank connects to itself"
    if why:
        severity: Severity | None = "warning" if _is_loopback(text) and isinstance(host.nodes, Unknown) else None
        yield report.better_unset(variable, f"NCCL_COMM_ID {why}", severity=severity)


def _is_loopback(text: str) -> bool:
    host = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


@rule("NETIF023", "warning", needs=("kernel",))
def narrow_port_range(host: JudgedHost) -> Results:
    """The host has fewer than 64 ephemeral ports per rank.

    Why: NCCL listens on ephemeral ports for bootstrap, the proxy, and the socket transport. When they run out,
    bind fails with "Address already in use". A firewall between the nodes must allow this range; the doctor cannot
    check that from one host.
    Example: net.ipv4.ip_local_port_range = 50000 50100
    Instead: sysctl -w net.ipv4.ip_local_port_range="32768 60999"
    Source: NCCL user guide, troubleshooting, networking (IP ports); 64 is our own estimate
    """
    text = known(host.facts.kernel.sysctl("net.ipv4.ip_local_port_range"))
    first, last = (values.atoi(word) for word in [*text.split(), "0", "0"][:2])
    ports = last - first + 1
    ranks = host.local_ranks
    if ports >= _PORTS_PER_RANK * (ranks if isinstance(ranks, int) else _MANY_RANKS):
        return
    if ports < _PORTS_PER_RANK * known(ranks):
        remedy = 'sysctl -w net.ipv4.ip_local_port_range="32768 60999" and open this range between the nodes'
        lines = (f"net.ipv4.ip_local_port_range = {escaped(text[:40])}",)
        yield report.host(
            host.facts.host, f"{ports} ephemeral ports for {counted(known(ranks), 'rank')}", remedy, evidence=lines
        )


@for_text("NETIF030", "warning", "NCCL_OOB_NET_IFNAME")
def oob_devices_without_oob(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_OOB_NET_IFNAME is set, but NCCL_OOB_NET_ENABLE is not 1.

    Why: NCCL reads the list only when the data network carries bootstrap traffic.
    Example: NCCL_OOB_NET_IFNAME==mlx5_1
    Instead: set NCCL_OOB_NET_ENABLE=1 as well or unset NCCL_OOB_NET_IFNAME
    Source: NCCL user guide, NCCL_OOB_NET_IFNAME
    """
    if not host.integer("NCCL_OOB_NET_ENABLE"):
        remedy = "export NCCL_OOB_NET_ENABLE=1 or unset NCCL_OOB_NET_IFNAME"
        yield report.better_unset(variable, "NCCL does not read this list", remedy, part="")


@rule("NETIF031", "info")
def extreme_retries(host: JudgedHost) -> Results:
    """NCCL stops retrying a connection after less than 5 s, after more than 600 s, or never.

    Why: Ranks start at different times, so a short wait fails; a long one hides a wrong address. Before retry N,
    NCCL waits N times NCCL_SOCKET_RETRY_SLEEP_MSEC; with a negative NCCL_SOCKET_RETRY_CNT, it retries forever.
    Example: NCCL_SOCKET_RETRY_CNT=5
    Instead: unset the variable; the default is about 60 s
    Source: NCCL user guide, NCCL_SOCKET_RETRY_CNT; src/os/linux.cc (socketConnectCheck)
    """
    names = ("NCCL_SOCKET_RETRY_CNT", "NCCL_SOCKET_RETRY_SLEEP_MSEC")
    variable = next((one for name in names if (one := host.variable(name)) and one.value), None)
    if variable is None or known(host.nccl) < Version(2, 24, 3):
        return
    count, sleep = (host.integer(name) for name in names)
    count, sleep = (_RETRIES if count is None else count), (_RETRY_MS if sleep is None else sleep)
    seconds = count * (count + 1) / 2 * sleep / 1000
    if count < 0 or not 5 <= seconds <= 600:
        when = "never gives up" if count < 0 else f"gives up after {seconds:g} s"
        yield report.better_unset(variable, f"NCCL {when}")


@rule("NETIF014", "warning", needs=FOR_SOCKETS)
def slow_interface(host: JudgedHost) -> Results:
    """TCP carries the traffic over an interface of 10 Gb/s or less, although a faster one is up.

    Why: The chosen interface limits all traffic between nodes.
    Example: NCCL_SOCKET_IFNAME=eno1 (10 Gb/s), with ens3f0 (100 Gb/s) also up
    Instead: set NCCL_SOCKET_IFNAME=ens3f0 or use RDMA
    Source: NCCL src/transport/net_socket.cc
    """
    choice = host.interfaces
    if _surely_not_tcp(host):
        return
    speeds, unknown = _speeds(host, choice)
    if not choice.chosen or (speeds and max(speeds.values()) > _SLOW_MBPS):
        return
    idle = {one.name: or_none(one.speed_mbps) or 0 for one in _idle(host, choice)}
    faster = {name: speed for name, speed in idle.items() if speed > _SLOW_MBPS}
    if not faster or host.network_kind != "Socket":
        return
    yield from unknown
    if not unknown:
        name = max(faster, key=lambda each: faster[each])
        message = f"TCP uses an interface of {max(speeds.values())} Mb/s; {escaped(name)} is faster"
        remedy = f"export NCCL_SOCKET_IFNAME=={escaped(name)}"
        lines = (*_lines(speeds), *_lines(faster))
        fix = report.export(IFNAME, f"={name}")
        yield report.interface(
            choice.chosen[0].name, message, remedy, evidence=lines, severity=_severity(host), fix=fix
        )


def _surely_not_tcp(host: JudgedHost) -> bool:
    """Whether it is known that TCP does not carry the traffic; cheaper than looking at interfaces."""
    try:
        return host.network_kind != "Socket"
    except NotKnown:
        return False


def _speeds(host: JudgedHost, choice: InterfaceChoice) -> tuple[dict[str, int], list[Unknown]]:
    """(speed of each interface in Mb/s, why some are not known)."""
    found: dict[str, int] = {}
    unknown: list[Unknown] = []
    for one in choice.chosen:
        interface = interface_of(host, one.name)
        speed = interface.speed_mbps if interface else Unknown("not in /sys/class/net")
        if isinstance(speed, Unknown):
            unknown.append(Unknown(f"speed of {one.name} unknown: {speed.reason}"))
        else:
            found[one.name] = speed
    return found, unknown


def _idle(host: JudgedHost, choice: InterfaceChoice) -> Iterator[Interface]:
    """Interfaces that run, have an address, and are not chosen."""
    taken = {one.name.partition(":")[0] for one in choice.chosen}
    with_address = {address.interface.partition(":")[0] for address in known(host.facts.network.addresses)}
    for interface in known(host.facts.network.interfaces):
        if interface.name in with_address - taken and interface.running is True:
            yield interface


def _lines(speeds: dict[str, int]) -> tuple[str, ...]:
    return tuple(f"{escaped(name)}: {speed} Mb/s" for name, speed in list(speeds.items())[:8])


def _severity(host: JudgedHost) -> Severity:
    """Of what concerns traffic between nodes; whether there are several is not known of a host by itself."""
    return host.if_several_nodes("warning", "info", "warning" if host.get(IFNAME) else "info")


@rule("NETIF015", "warning", needs=FOR_SOCKETS)
def unequal_interfaces(host: JudgedHost) -> Results:
    """TCP carries the traffic over several interfaces that differ in speed or network.

    Why: NCCL spreads data over all of them: the slowest one limits the speed, and an interface that the peer
    cannot reach, such as a container's veth, breaks the connection.
    Example: NCCL_SOCKET_IFNAME=e, which matches eno1 (1 Gb/s) and ens3f0 (100 Gb/s)
    Instead: NCCL_SOCKET_IFNAME==ens3f0
    Source: https://github.com/NVIDIA/nccl/issues/286; https://github.com/Oneflow-Inc/oneflow/issues/3586
    """
    choice = host.interfaces
    if len(choice.chosen) < 2 or _surely_not_tcp(host):
        return
    inner = next((one.name for one in choice.chosen[1:] if interfaces.is_inside(one.name)), None)
    if inner and not interfaces.is_inside(choice.chosen[0].name) and host.network_kind == "Socket":
        message = f"TCP traffic also goes through {escaped(inner)}, which looks like a host-internal interface"
        remedy = f"set {IFNAME} to the interface through which all nodes reach each other"
        lines = tuple(f"{escaped(one.name)} {one.address}" for one in choice.chosen[:8])
        yield report.interface(inner, message, remedy, evidence=lines, severity=_severity(host))
        return
    speeds, unknown = _speeds(host, choice)
    subnets = interfaces.subnets(host.facts.network, choice.chosen)
    unequal = len(set(speeds.values())) > 1 or len(set(subnets.values())) > 1
    if not (unequal or unknown) or host.network_kind != "Socket":
        return
    if unequal:
        message = f"TCP traffic is spread over {len(choice.chosen)} interfaces that differ"
        remedy = "set NCCL_SOCKET_IFNAME to interfaces with the same speed and network or to the fastest one"
        lines = tuple(_line(one.name, speeds, subnets) for one in choice.chosen[:8])
        yield report.interface(choice.chosen[0].name, message, remedy, evidence=lines, severity=_severity(host))
    else:
        yield from unknown


def _line(name: str, speeds: dict[str, int], subnets: dict[str, str]) -> str:
    speed = f"{speeds[name]} Mb/s" if name in speeds else "speed unknown"
    return f"{escaped(name)}: {speed}, {subnets.get(name, 'an address without a network')}"


@for_number("NETIF029", "info", "NCCL_SOCKET_RCVBUF", "NCCL_SOCKET_SNDBUF", needs=("kernel",))
def socket_buffer_beyond_limit(host: JudgedHost, variable: Variable, wanted: int) -> Results:
    """NCCL_SOCKET_RCVBUF or NCCL_SOCKET_SNDBUF is above the kernel's limit.

    Why: The kernel applies its limit without a message and no longer tunes the buffer size automatically.
    Example: NCCL_SOCKET_RCVBUF=67108864 with net.core.rmem_max = 212992
    Instead: sysctl -w net.core.rmem_max=67108864 or unset the variable
    Source: socket(7), SO_RCVBUF
    """
    if wanted <= 0:
        return
    limit = "net.core.rmem_max" if variable.name == "NCCL_SOCKET_RCVBUF" else "net.core.wmem_max"
    most = values.atoi(known(host.facts.kernel.sysctl(limit)))
    if wanted > most:
        remedy = f"sysctl -w {limit}={wanted} or unset {variable.name}"
        lines = (f"{limit} = {most}",)
        yield report.better_unset(variable, f"the kernel uses {most} instead", remedy, evidence=lines)


@for_number("NETIF024", "warning", _THREADS)
def threads_out_of_range(_: JudgedHost, variable: Variable, threads: int) -> Results:
    """NCCL_SOCKET_NTHREADS is above 16 or below 1.

    Why: Above 16, NCCL warns and uses 16. Below 1, it starts no helper threads.
    Example: NCCL_SOCKET_NTHREADS=32
    Instead: NCCL_SOCKET_NTHREADS=4
    Source: NCCL src/transport/net_socket.cc (MAX_THREADS)
    """
    if not 1 <= threads <= _MOST_THREADS:
        message = "above 16: NCCL uses 16" if threads > 0 else "below 1: no helper threads"
        yield report.better_unset(variable, message, "set a value from 1 to 16 or unset it")


@rule("NETIF025", "warning", needs=("network",))
def too_many_sockets(host: JudgedHost) -> Results:
    """NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD is above 64.

    Why: A connection has at most 64 sockets. NCCL logs a warning and lowers the number of sockets per thread.
    Example: NCCL_SOCKET_NTHREADS=16 and NCCL_NSOCKS_PERTHREAD=8
    Instead: NCCL_SOCKET_NTHREADS=8 and NCCL_NSOCKS_PERTHREAD=8
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS; src/transport/net_socket.cc
    """
    threads, sockets = host.integer(_THREADS), host.integer(_SOCKETS)
    variable = host.variable(_THREADS) or host.variable(_SOCKETS)
    if variable is None or max(threads or 4, 1) * max(sockets or 8, 1) <= _MOST_SOCKETS:
        return
    if threads is None or sockets is None:
        auto = _by_vendor(host)
        threads, sockets = (auto[0] if threads is None else threads), (auto[1] if sockets is None else sockets)
    threads = min(threads, _MOST_THREADS)
    if threads * sockets > _MOST_SOCKETS:
        most = _MOST_SOCKETS // threads
        message = f"{threads} threads x {sockets} sockets: NCCL uses {most} sockets per thread"
        yield report.about(variable, message, "lower one so that the product is at most 64", part="")


def _by_vendor(host: JudgedHost) -> tuple[int, int]:
    """(threads, sockets of each) that NCCL takes by itself on the first interface. Raises NotKnown."""
    chosen = host.interfaces.bootstrap
    interface = interface_of(host, chosen.name) if chosen else None
    if interface is None or interface.virtual is True:
        return 0, 1
    return _BY_VENDOR.get(known(interface.vendor), (0, 1))


@for_text("NETIF026", "warning", _SOCKETS, needs=("network",))
def sockets_without_threads(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_NSOCKS_PERTHREAD is set, but NCCL_SOCKET_NTHREADS is not.

    Why: By default, NCCL starts helper threads only on AWS and gVNIC. Without them, the variable has no effect.
    Example: NCCL_NSOCKS_PERTHREAD=4
    Instead: NCCL_SOCKET_NTHREADS=4 and NCCL_NSOCKS_PERTHREAD=4
    Source: NCCL src/transport/net_socket.cc (ncclNetSocketGetNsockNthread)
    """
    if host.integer(_THREADS) is None and not _by_vendor(host)[0]:
        message, fix = "no effect: there are no helper threads", report.export(_THREADS, "4")
        yield report.about(variable, message, f"export {_THREADS}=4 as well", fix=fix, part="")


@rule("NETIF027", "info", needs=("rdma",))
def socket_tuning_with_rdma(host: JudgedHost) -> Results:
    """The number of socket threads or sockets is set, but RDMA carries the traffic.

    Why: These settings apply only to TCP.
    Example: NCCL_SOCKET_NTHREADS=4 on a host with InfiniBand
    Instead: unset the variables or keep them only for jobs that use TCP
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS
    """
    variable = host.variable(_THREADS) or host.variable(_SOCKETS)
    if variable is None or (host.get("NCCL_NET") or "").lower() == "socket" or host.integer("NCCL_IB_DISABLE"):
        return
    used = host.active_ports
    if used:
        lines = (f"active: {escaped(', '.join(one.name for one in used[:8]))}",)
        message = "no effect while RDMA carries the traffic"
        yield report.better_unset(variable, message, part="", evidence=lines)


@for_number("NETIF028", "info", _THREADS, needs=(*FOR_SOCKETS, "limits", "cpu"))
def more_threads_than_cpus(host: JudgedHost, variable: Variable, threads: int) -> Results:
    """There are more helper threads than CPUs that the ranks may use.

    Why: Helper threads compete for CPUs with each other, the proxy threads, and data loaders.
    Example: NCCL_SOCKET_NTHREADS=16 with 8 ranks on 32 CPUs
    Instead: NCCL_SOCKET_NTHREADS=4
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS (higher CPU usage)
    """
    if threads < 1 or host.network_kind != "Socket":
        return
    threads = min(threads, _MOST_THREADS)
    count = len(host.interfaces.chosen)
    wanted = known(host.local_ranks) * threads * max(count, 1)
    cpus = _cpus(host)
    if wanted > cpus:
        lines = (f"{host.local_ranks} ranks x {threads} threads x {count} interfaces",)
        message = f"{wanted} helper threads on {cpus} CPUs"
        yield report.about(variable, message, "lower NCCL_SOCKET_NTHREADS", evidence=lines, part="")


def _cpus(host: JudgedHost) -> int:
    """How many processors this process may use. Raises NotKnown."""
    counted = len(numbers(known(host.facts.cpu.allowed)))
    cores = host.facts.limits.cpu_cores
    return min(counted, int(cores) or 1) if isinstance(cores, float | int) else counted
