"""How fast the interfaces are that carry the traffic."""

from collections.abc import Iterator

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, escaped, known, rule
from nccltool.doctor.rules.interfaces.base import FOR_SOCKETS, IFNAME, interface_of
from nccltool.hosts.facts import Interface
from nccltool.hosts.nccl import interfaces, values
from nccltool.hosts.nccl.interfaces import InterfaceChoice

_SLOW_MBPS = 10_000


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
        speed = interface.speed_mbps if interface else Unknown("it is not in /sys/class/net")
        if isinstance(speed, Unknown):
            unknown.append(Unknown(f"the speed of {one.name}: {speed.reason}"))
        else:
            found[one.name] = speed
    return found, unknown


def _severity(host: JudgedHost) -> Severity:
    """Of what concerns traffic between nodes; whether there are several is not known of a host by itself."""
    return host.if_several_nodes("warning", "info", "warning" if host.get(IFNAME) else "info")


def _shown(speeds: dict[str, int]) -> tuple[str, ...]:
    return tuple(f"{escaped(name)}: {speed} Mb/s" for name, speed in list(speeds.items())[:8])


@rule("NETIF014", "warning", needs=FOR_SOCKETS)
def slow_interface(host: JudgedHost) -> Results:
    """TCP carries the traffic, over an interface of 10 Gb/s or less, and a faster one is up.

    Why: What is between nodes is limited by the interface that was chosen.
    Example: NCCL_SOCKET_IFNAME=eno1 (10 Gb/s) beside ens3f0 (100 Gb/s)
    Instead: NCCL_SOCKET_IFNAME=ens3f0, or RDMA
    Source: NCCL src/transport/net_socket.cc
    """
    choice = host.interfaces
    if _surely_not_tcp(host):
        return
    speeds, unknown = _speeds(host, choice)
    if not choice.chosen or (speeds and max(speeds.values()) > _SLOW_MBPS):
        return
    faster = {one.name: speed for one in _idle(host, choice) if (speed := _speed(one)) > _SLOW_MBPS}
    if not faster or host.network_kind != "Socket":
        return
    yield from unknown
    if not unknown:
        name = max(faster, key=lambda each: faster[each])
        yield report.interface(
            choice.chosen[0].name,
            f"TCP carries the traffic over {max(speeds.values())} Mb/s; {escaped(name)} is faster",
            f"export NCCL_SOCKET_IFNAME=={escaped(name)}",
            evidence=(*_shown(speeds), *_shown(faster)),
            severity=_severity(host),
            fix=report.export(IFNAME, f"={name}"),
        )


def _idle(host: JudgedHost, choice: InterfaceChoice) -> Iterator[Interface]:
    """Interfaces that run, have an address, and are not chosen."""
    taken = {one.name.partition(":")[0] for one in choice.chosen}
    with_address = {address.interface.partition(":")[0] for address in known(host.facts.network.addresses)}
    for interface in known(host.facts.network.interfaces):
        if interface.name in with_address - taken and interface.running is True:
            yield interface


def _speed(interface: Interface) -> int:
    return 0 if isinstance(interface.speed_mbps, Unknown) else interface.speed_mbps


@rule("NETIF015", "warning", needs=FOR_SOCKETS)
def unequal_interfaces(host: JudgedHost) -> Results:
    """TCP carries the traffic over several interfaces, which differ in speed or network.

    Why: NCCL spreads the data over all of them: the slowest one, or one that the peer cannot reach, decides.
    Example: NCCL_SOCKET_IFNAME=e, which fits eno1 (1 Gb/s) and ens3f0 (100 Gb/s)
    Instead: NCCL_SOCKET_IFNAME==ens3f0
    Source: https://github.com/NVIDIA/nccl/issues/286
    """
    choice = host.interfaces
    if len(choice.chosen) < 2 or _surely_not_tcp(host):
        return
    speeds, unknown = _speeds(host, choice)
    subnets = interfaces.subnets(host.facts.network, choice.chosen)
    unequal = len(set(speeds.values())) > 1 or len(set(subnets.values())) > 1
    if not (unequal or unknown) or host.network_kind != "Socket":
        return
    if unequal:
        yield report.interface(
            choice.chosen[0].name,
            f"TCP is spread over {len(choice.chosen)} interfaces that differ",
            "name the interfaces that are alike, or the fastest one, in NCCL_SOCKET_IFNAME",
            evidence=tuple(_line(one.name, speeds, subnets) for one in choice.chosen[:8]),
            severity=_severity(host),
        )
    else:
        yield from unknown


def _line(name: str, speeds: dict[str, int], subnets: dict[str, str]) -> str:
    speed = f"{speeds[name]} Mb/s" if name in speeds else "speed not known"
    return f"{escaped(name)}: {speed}, {subnets.get(name, 'an address without a network')}"


@rule("NETIF029", "info", needs=("kernel",))
def socket_buffer_beyond_limit(host: JudgedHost) -> Results:
    """NCCL_SOCKET_RCVBUF or NCCL_SOCKET_SNDBUF is more than the kernel allows.

    Why: The kernel takes its limit without a message, and no longer adapts the buffer by itself.
    Example: NCCL_SOCKET_RCVBUF=67108864 with net.core.rmem_max = 212992
    Instead: sysctl -w net.core.rmem_max=67108864, or unset it
    Source: socket(7), SO_RCVBUF
    """
    for name, limit in (("NCCL_SOCKET_RCVBUF", "net.core.rmem_max"), ("NCCL_SOCKET_SNDBUF", "net.core.wmem_max")):
        variable, wanted = host.variable(name), host.integer(name)
        if variable is None or wanted is None or wanted <= 0:
            continue
        most = values.atoi(known(host.facts.kernel.sysctl(limit)))
        if wanted > most:
            yield report.better_unset(
                variable,
                f"the kernel takes {most} instead",
                f"sysctl -w {limit}={wanted}, or unset {name}",
                evidence=(f"{limit} = {most}",),
            )
