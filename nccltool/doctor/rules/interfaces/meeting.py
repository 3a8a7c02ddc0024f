"""How the ranks meet: NCCL_COMM_ID, ports, retries."""

import ipaddress
import re

from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.nccl import values

_PORTS_PER_RANK = 64
"""Listeners of one rank with 16 channels and a few communicators; our own estimate."""

_MANY_RANKS = 256
"""No node has more."""

_RETRIES, _RETRY_MS = 34, 100

_RETRY_SINCE = Version(2, 24, 3)

_SHORTEST_S, _LONGEST_S = 5, 600

_COMM_ID = re.compile(r"[^\s:,\[\]]+:\d+|\[[0-9A-Fa-f:.]+(%[^\]]+)?\]:\d+")


@rule("NETIF022", "error")
def fixed_comm_id(host: JudgedHost) -> Results:
    """NCCL_COMM_ID is malformed, is loopback in a job of several nodes, or meets torch.

    Why: It fixes the one address at which rank 0 waits. A malformed one ends initialization. torch makes an id for
    each communicator: the second one finds the port in use.
    Example: NCCL_COMM_ID=node1
    Instead: unset NCCL_COMM_ID; for programs without a launcher NCCL_COMM_ID=10.0.0.5:23456
    Source: NCCL src/bootstrap.cc, src/init.cc (ncclCommInitRankDev)
    """
    variable = host.variable("NCCL_COMM_ID")
    if variable is None:
        return
    text = variable.value
    why = ""
    if not _COMM_ID.fullmatch(text):
        why = "is not <address>:<port>: initialization fails"
    elif any(host.get(name) for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS")):
        why = "cannot be used with torch, which makes an id for each communicator"
    elif _is_loopback_text(text) and host.several_nodes:
        why = "is a loopback address: other nodes connect to themselves"
    if why:
        yield report.better_unset(variable, f"NCCL_COMM_ID {why}", part=text)


def _is_loopback_text(text: str) -> bool:
    host = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


@rule("NETIF023", "warning", needs=("kernel",))
def narrow_port_range(host: JudgedHost) -> Results:
    """The kernel has few ports to give: fewer than 64 for each rank of this host.

    Why: NCCL listens on ephemeral ports, for bootstrap, the proxy and the socket transport. When they are used up,
    bind fails with "Address already in use". A firewall between the nodes must let this range through; that cannot
    be seen from here.
    Example: net.ipv4.ip_local_port_range = 50000 50100
    Instead: sysctl -w net.ipv4.ip_local_port_range="32768 60999"
    Source: NCCL user guide, troubleshooting of networks (IP ports); 64 is our own estimate
    """
    text = known(host.facts.kernel.sysctl("net.ipv4.ip_local_port_range"))
    first, last = (values.atoi(word) for word in [*text.split(), "0", "0"][:2])
    ports = last - first + 1
    ranks = host.local_ranks
    if ports >= _PORTS_PER_RANK * (ranks if isinstance(ranks, int) else _MANY_RANKS):
        return
    if ports < _PORTS_PER_RANK * known(ranks):
        yield report.host(
            host.facts.host,
            f"{ports} ephemeral ports for {ranks} ranks",
            'sysctl -w net.ipv4.ip_local_port_range="32768 60999", and open it between the nodes',
            evidence=(f"net.ipv4.ip_local_port_range = {escaped(text[:40])}",),
        )


@rule("NETIF030", "warning")
def oob_devices_without_oob(host: JudgedHost) -> Results:
    """NCCL_OOB_NET_IFNAME is set, and NCCL_OOB_NET_ENABLE is not 1.

    Why: The list is read only when the network carries what belongs to bootstrap.
    Example: NCCL_OOB_NET_IFNAME==mlx5_1
    Instead: NCCL_OOB_NET_ENABLE=1 as well, or neither
    Source: NCCL user guide, NCCL_OOB_NET_IFNAME
    """
    variable = host.variable("NCCL_OOB_NET_IFNAME")
    if variable and variable.value and not host.integer("NCCL_OOB_NET_ENABLE"):
        yield report.better_unset(
            variable,
            "NCCL does not read this list",
            "export NCCL_OOB_NET_ENABLE=1, or unset NCCL_OOB_NET_IFNAME",
            part="",
        )


@rule("NETIF031", "info")
def extreme_retries(host: JudgedHost) -> Results:
    """NCCL gives up a connection after less than 5 s, or more than 600 s, or never.

    Why: Ranks start at different times: too short fails then. Too long hides a wrong address. NCCL waits 1, 2, ...
    N times NCCL_SOCKET_RETRY_SLEEP_MSEC; a negative NCCL_SOCKET_RETRY_CNT never ends.
    Example: NCCL_SOCKET_RETRY_CNT=5
    Instead: unset it; the default is about 60 s
    Source: NCCL user guide, NCCL_SOCKET_RETRY_CNT; src/os/linux.cc (socketConnectCheck)
    """
    names = ("NCCL_SOCKET_RETRY_CNT", "NCCL_SOCKET_RETRY_SLEEP_MSEC")
    variable = next((one for name in names if (one := host.variable(name)) and one.value), None)
    if variable is None or known(host.nccl) < _RETRY_SINCE:
        return
    count, sleep = (host.integer(name) for name in names)
    count, sleep = (_RETRIES if count is None else count), (_RETRY_MS if sleep is None else sleep)
    seconds = count * (count + 1) / 2 * sleep / 1000
    if count < 0 or not _SHORTEST_S <= seconds <= _LONGEST_S:
        yield report.better_unset(
            variable, "NCCL never gives up" if count < 0 else f"NCCL gives up after {seconds:g} s"
        )
