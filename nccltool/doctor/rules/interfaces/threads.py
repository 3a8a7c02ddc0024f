"""Threads and sockets of NCCL over TCP."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.doctor.rules.interfaces.base import FOR_SOCKETS, interface_of
from nccltool.hosts.facts import Text
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_MOST_THREADS, _MOST_SOCKETS = 16, 64
"""MAX_THREADS and MAX_SOCKETS of src/transport/net_socket.cc."""

_BY_VENDOR = {"0x1d0f": (2, 8), "0x1ae0": (4, 1)}
"""(threads, sockets of each) that NCCL takes by itself on ENA and gVNIC."""


@rule("NETIF024", "warning")
def threads_out_of_range(host: JudgedHost) -> Results:
    """NCCL_SOCKET_NTHREADS is more than 16, or less than 1.

    Why: NCCL takes 16 for more, and warns. With 0 or less there are no helper threads at all.
    Example: NCCL_SOCKET_NTHREADS=32
    Instead: NCCL_SOCKET_NTHREADS=4
    Source: NCCL src/transport/net_socket.cc (MAX_THREADS)
    """
    variable, threads = host.variable("NCCL_SOCKET_NTHREADS"), host.integer("NCCL_SOCKET_NTHREADS")
    if variable and threads is not None and not 1 <= threads <= _MOST_THREADS:
        yield report.better_unset(
            variable,
            "more than 16: NCCL takes 16" if threads > 0 else "there are no helper threads",
            "write 1 to 16, or unset it",
        )


def _tuning(host: JudgedHost) -> tuple[Variable | None, Variable | None]:
    return host.variable("NCCL_SOCKET_NTHREADS"), host.variable("NCCL_NSOCKS_PERTHREAD")


def _by_vendor(host: JudgedHost) -> tuple[int, int]:
    """(threads, sockets of each) that NCCL takes by itself on the first interface. Raises NotKnown."""
    chosen = host.interfaces.bootstrap
    interface = interface_of(host, chosen.name) if chosen else None
    if interface is None or interface.virtual is True:
        return 0, 1
    vendor: Text = interface.vendor
    return _BY_VENDOR.get(known(vendor), (0, 1))


@rule("NETIF025", "warning", needs=("network",))
def too_many_sockets(host: JudgedHost) -> Results:
    """NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD is more than 64.

    Why: A connection has at most 64 sockets. NCCL warns, and lowers the sockets of a thread.
    Example: NCCL_SOCKET_NTHREADS=16 and NCCL_NSOCKS_PERTHREAD=8
    Instead: NCCL_SOCKET_NTHREADS=8 and NCCL_NSOCKS_PERTHREAD=8
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS; src/transport/net_socket.cc
    """
    threads, sockets = (host.integer(name) for name in ("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"))
    variable = next((one for one in _tuning(host) if one), None)
    if variable is None or max(threads or 4, 1) * max(sockets or 8, 1) <= _MOST_SOCKETS:
        return
    if threads is None or sockets is None:
        auto = _by_vendor(host)
        threads, sockets = (auto[0] if threads is None else threads), (auto[1] if sockets is None else sockets)
    threads = min(threads, _MOST_THREADS)
    if threads * sockets > _MOST_SOCKETS:
        yield report.about(
            variable,
            f"{threads} threads x {sockets} sockets: NCCL takes {_MOST_SOCKETS // threads} sockets a thread",
            "keep the product at 64 or less",
            part="",
        )


@rule("NETIF026", "warning", needs=("network",))
def sockets_without_threads(host: JudgedHost) -> Results:
    """NCCL_NSOCKS_PERTHREAD is set, and NCCL_SOCKET_NTHREADS is not.

    Why: But on AWS and on gVNIC there are no helper threads without it: 0 threads times any number is 0 sockets.
    Example: NCCL_NSOCKS_PERTHREAD=4
    Instead: NCCL_SOCKET_NTHREADS=4 and NCCL_NSOCKS_PERTHREAD=4
    Source: NCCL src/transport/net_socket.cc (ncclNetSocketGetNsockNthread)
    """
    variable = host.variable("NCCL_NSOCKS_PERTHREAD")
    if variable is None or not variable.value or host.integer("NCCL_SOCKET_NTHREADS") is not None:
        return
    if not _by_vendor(host)[0]:
        yield report.about(
            variable,
            "it has no effect: there are no helper threads",
            "export NCCL_SOCKET_NTHREADS=4 as well",
            fix=report.export("NCCL_SOCKET_NTHREADS", "4"),
            part="",
        )


@rule("NETIF027", "info", needs=("rdma",))
def socket_tuning_with_rdma(host: JudgedHost) -> Results:
    """Threads or sockets of the socket transport are set, and RDMA carries the traffic.

    Why: They concern TCP only.
    Example: NCCL_SOCKET_NTHREADS=4 on a host with InfiniBand
    Instead: without them, or keep them for the day on which TCP is needed
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS
    """
    variable = next((one for one in _tuning(host) if one), None)
    if variable is None or (host.get("NCCL_NET") or "").lower() == "socket" or host.integer("NCCL_IB_DISABLE"):
        return
    used = host.active_ports
    if used:
        yield report.better_unset(
            variable,
            "it has no effect while RDMA carries the traffic",
            part="",
            evidence=(f"active: {escaped(', '.join(one.name for one in used[:8]))}",),
        )


@rule("NETIF028", "warning", needs=(*FOR_SOCKETS, "limits", "cpu"))
def more_threads_than_cpus(host: JudgedHost) -> Results:
    """The helper threads of all ranks are more than the processors that they may use.

    Why: They compete with each other, the proxy and the loading of data.
    Example: NCCL_SOCKET_NTHREADS=16 with 8 ranks on 32 processors
    Instead: NCCL_SOCKET_NTHREADS=4
    Source: NCCL user guide, NCCL_SOCKET_NTHREADS (higher CPU usage)
    """
    variable, threads = host.variable("NCCL_SOCKET_NTHREADS"), host.integer("NCCL_SOCKET_NTHREADS")
    if variable is None or threads is None or threads < 1 or host.network_kind != "Socket":
        return
    threads = min(threads, _MOST_THREADS)
    wanted = known(host.local_ranks) * threads * max(len(host.interfaces.chosen), 1)
    cpus = _cpus(host)
    if wanted > cpus:
        yield report.about(
            variable,
            f"{wanted} helper threads on {cpus} processors",
            "lower NCCL_SOCKET_NTHREADS",
            evidence=(f"{host.local_ranks} ranks x {threads} threads x {len(host.interfaces.chosen)} interfaces",),
            part="",
        )


def _cpus(host: JudgedHost) -> int:
    """How many processors this process may use. Raises NotKnown."""
    text = known(host.facts.cpu.allowed)
    ranges = [word.partition("-") for word in values.split(text)]
    counted = sum(values.atoi(last or first) - values.atoi(first) + 1 for first, _, last in ranges)
    cores = host.facts.limits.cpu_cores
    return min(counted, int(cores) or 1) if isinstance(cores, float | int) else counted
