"""Which interfaces NCCL would choose for bootstrap and its socket transport, and why: pure.

Written after ncclFindInterfaces and bootstrapNetInit (src/misc/socket.cc, src/os/linux.cc, src/bootstrap.cc);
tests hold it against the library.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from nccltool.core.versions import Version
from nccltool.hosts.facts import Address, Network, NotKnown, known
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import NcclSettings

_RUNNING_ONLY = Version(2, 28, 3)
"""From here on only running interfaces count, and virbr* is left for the end."""
_INVERTED = (Version(2, 29, 2), Version(2, 30, 3))
"""From the first to before the second IPv4 subnets are compared inversely: the first other one is taken."""
MOST = 16
"""So many interfaces are kept."""
_INNER = re.compile(r"lo$|docker|virbr|veth|cni|br-[0-9a-f]{8}|flannel|cali[0-9a-f]|cilium|lxc|podman|nerdctl")
"""What exists only inside a host, by how its makers name it. NCCL itself passes over lo, docker and virbr:
src/misc/socket.cc (ncclFindInterfaces)."""
Resolve = Callable[[str], tuple[str, ...] | None]
Failure = Literal["no interface", "no interface in the subnet", "bad NCCL_COMM_ID"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenInterface:
    """An interface, and the address of it that NCCL uses."""

    name: str
    address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InterfaceChoice:
    """What NCCL would choose."""

    chosen: tuple[ChosenInterface, ...]
    """In its order; the first one is that of bootstrap."""
    why: str
    """What decided: `NCCL_SOCKET_IFNAME`, or the step of the automatic choice."""
    failure: Failure | None = None
    """Initialization fails, for this reason."""

    @property
    def bootstrap(self) -> ChosenInterface | None:
        """The one for bootstrap; None = initialization fails."""
        return self.chosen[0] if self.chosen else None


def is_inside(name: str) -> bool:
    """Whether other hosts cannot reach an interface of this name: a loopback, a bridge, a container's."""
    return _INNER.match(name) is not None


def choose(
    settings: NcclSettings, network: Network, resolve: Resolve = lambda host: None, most: int = MOST
) -> InterfaceChoice:
    """The interfaces that ncclFindInterfaces finds (`most`: bootstrap asks for 1). Raises NotKnown.

    `resolve` gives the addresses of a host name in NCCL_COMM_ID; None = it is not known.
    """
    usable = _usable(settings.version, network, settings.get("NCCL_SOCKET_FAMILY"))
    given = settings.get("NCCL_SOCKET_IFNAME")
    if given is not None and len(given.encode(errors="surrogateescape")) > 1:
        return _choice(_find(given, usable, settings.version, most), "NCCL_SOCKET_IFNAME")
    found = _find("ib", usable, settings.version, most)
    if found:
        return _choice(found, "names beginning with ib have priority")
    hint = settings.get("NCCL_COMM_ID")
    if hint is not None and len(hint) > 1:
        choice = _by_comm_id(hint, network, resolve, settings.version)
        if choice.chosen or choice.failure == "bad NCCL_COMM_ID":
            return choice
    return _automatic(usable, settings.version, most)


def bootstrap(settings: NcclSettings, network: Network, resolve: Resolve = lambda host: None) -> InterfaceChoice:
    """What ncclGetUniqueId binds to: NCCL_COMM_ID decides alone where it is set. Raises NotKnown."""
    given = settings.get("NCCL_COMM_ID")
    if given is None:
        return choose(settings, network, resolve, most=1)
    return _by_comm_id(given, network, resolve, settings.version)


def subnets(network: Network, chosen: Sequence[ChosenInterface]) -> dict[str, str]:
    """Interface -> its subnet; one without neighbours (a /32, as in some clouds) says nothing. Raises NotKnown."""
    lengths = {(one.interface, one.address): one.prefix_len for one in known(network.addresses)}
    found = {}
    for one in chosen:
        family = socket.AF_INET6 if ":" in one.address else socket.AF_INET
        number = socket.inet_pton(family, one.address)  # many times as fast as ipaddress
        length, bits = known(lengths[one.name, one.address]), 8 * len(number)
        if length < bits:
            base = int.from_bytes(number) >> (bits - length) << (bits - length)
            found[one.name] = f"{socket.inet_ntop(family, base.to_bytes(len(number)))}/{length}"
    return found


def _automatic(usable: Sequence[Address], version: Version | None, most: int) -> InterfaceChoice:
    newest = values.since(_RUNNING_ONLY, version)
    steps = [("^docker,lo,virbr" if newest else "^docker,lo", "first interface that is neither docker* nor lo*")]
    steps += [("docker", "only docker* is left"), ("lo", "only lo* is left")]
    steps += [("virbr", "only virbr* is left")] if newest else []
    for words, why in steps:
        found = _find(words, usable, version, most)
        if found:
            return _choice(found, why)
    return _choice((), "no interface has an address")


def _choice(found: tuple[ChosenInterface, ...], why: str) -> InterfaceChoice:
    return InterfaceChoice(chosen=found, why=why, failure=None if found else "no interface")


def _usable(version: Version | None, network: Network, family: str | None) -> tuple[Address, ...]:
    """The addresses that NCCL looks at, in its order."""
    running_only = values.since(_RUNNING_ONLY, version)
    return tuple(
        address
        for address in known(network.addresses)
        if family not in ("AF_INET", "AF_INET6") or address.family == family
        if address.family == "AF_INET" or not ipaddress.ip_address(address.address).is_loopback
        if not running_only or _is_running(network, address.interface)
    )


def _is_running(network: Network, name: str) -> bool:
    interface = network.interface(name.partition(":")[0])
    if interface is None:
        raise NotKnown(f"the interface {name} has an address but is missing from /sys/class/net")
    return known(interface.running)


def _find(
    words: str, usable: Sequence[Address], version: Version | None, most: int
) -> tuple[ChosenInterface, ...]:
    """The first address of each interface that the list chooses."""
    wanted = values.names(words, MOST, version)
    found: dict[str, ChosenInterface] = {}
    for address in usable:
        if len(found) == most:
            break
        if wanted.chooses(address.interface) and address.interface not in found:
            found[address.interface] = ChosenInterface(name=address.interface, address=address.address)
    return tuple(found.values())


def _by_comm_id(text: str, network: Network, resolve: Resolve, version: Version | None = None) -> InterfaceChoice:
    """The interface in the subnet of the address in NCCL_COMM_ID. Raises NotKnown when its name is not."""
    remote = _remote(text, resolve)
    if remote is None:
        return InterfaceChoice(chosen=(), why="NCCL_COMM_ID", failure="bad NCCL_COMM_ID")
    inverted = version is not None and _INVERTED[0] <= version < _INVERTED[1]
    for address in known(network.addresses):
        if _in_subnet(address, *remote, inverted):
            found = ChosenInterface(name=address.interface, address=address.address)
            return InterfaceChoice(chosen=(found,), why="NCCL_COMM_ID")
    return InterfaceChoice(chosen=(), why="NCCL_COMM_ID", failure="no interface in the subnet")


_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def _in_subnet(address: Address, remote: _Ip, scope: str, inverted: bool) -> bool:
    local = ipaddress.ip_interface(f"{address.address}/{known(address.prefix_len)}")
    if remote.version != local.version:
        return False
    if remote.version == 4:
        return (remote in local.network) != inverted
    return remote in local.network and scope == (address.interface if local.is_link_local else "")


def _remote(text: str, resolve: Resolve) -> tuple[_Ip, str] | None:
    """(address, interface of a link-local one) in `host:port` or `[v6]:port`; None where NCCL refuses the text."""
    if text.startswith("[") and len(text) > 1:
        inside, closed, _ = text[1:].partition("]")
        address, _, scope = inside.partition("%")
        literal = _literal(address)
        if closed and literal is None:  # NCCL goes on with whatever was in memory
            raise NotKnown(f"{address} in NCCL_COMM_ID is not an IPv6 address")
        return (literal, scope) if closed and literal else None
    hosts = [word.partition(":")[0] for word in text.split(",")] if len(text) > 1 else []
    host = next((name for name in hosts if name), None)
    if host is None:
        return None
    literal = _literal(host)
    if literal is None:
        addresses = resolve(host)
        if addresses is None:
            raise NotKnown(f"cannot resolve {host} from NCCL_COMM_ID")
        literal = _literal(addresses[0]) if addresses else None
    return (literal, "") if literal else None


def _literal(text: str) -> _Ip | None:
    """An address in numbers, in any of the notations of inet_aton."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        if re.fullmatch(r"[0-9a-fA-FxX.]+", text) is None:
            return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text))
    except OSError:
        return None
