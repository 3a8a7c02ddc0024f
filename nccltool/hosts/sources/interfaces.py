"""Network interfaces and addresses, in the order in which NCCL meets them; routes, listeners, name servers."""

import ipaddress
from collections.abc import Iterator, Mapping
from operator import not_

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address, Interface, Listener, Network, Route
from nccltool.hosts.facts.leaves import Count, Flag, NotKnown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree, getifaddrs

_NET = "/sys/class/net"
_UP, _LOOPBACK, _POINT_TO_POINT, _RUNNING = 0x1, 0x8, 0x10, 0x40
_MADE_UP = ("virtio_net", "hv_netvsc", "vmxnet3", "xen_netfront", "vif", "e1000", "8139cp")
"""Drivers of network cards that exist only in a virtual machine: what speed they name means nothing."""
_NOT_REAL = 2**31
"""Speeds from here on are -1 read as an unsigned number."""
_NO_DEVICE = Unknown("virtual")
VIRTUAL = "virtual interface; the speed that it reports is not a link speed"
_MOST = 512
"""Of routes and listeners. A host that speaks BGP has a million routes; the default and on-link ones matter."""
_LISTEN = "0A"
_ANY = "00000000"
_RTF_UP, _RTF_LOCAL = 0x1, 0x80000000


def read(tree: Tree) -> Network:
    listed = getifaddrs() if tree.live else Unknown(CAPTURED)
    if isinstance(listed, Unknown):
        addresses = _addresses(tree)
        return Network(interfaces=_interfaces(tree, {}), addresses=addresses, addresses_source="/proc/net")
    flags = {name: bits for name, bits, address in listed if address is None}
    return Network(
        interfaces=_interfaces(tree, flags),
        addresses=tuple(address for _, _, address in listed if address is not None),
        addresses_source="getifaddrs",
    )


@or_unknown
def _interfaces(tree: Tree, flags: Mapping[str, int]) -> tuple[Interface, ...]:
    # bonding_masters is a file among the links
    names = [name for name in known(tree.names(_NET)) if name != "bonding_masters"]
    found = [_interface(tree, name, flags.get(name)) for name in names]
    return tuple(sorted(found, key=lambda one: or_none(one.index) or 0))


def _interface(tree: Tree, name: str, live_flags: int | None) -> Interface:
    folder = f"{_NET}/{name}"
    flags = tree.number(f"{folder}/flags", 16) if live_flags is None else live_flags
    operstate, carrier = tree.text(f"{folder}/operstate"), _carrier(tree, folder)
    virtual = then(tree.exists(f"{folder}/device"), not_)
    device = _NO_DEVICE if virtual is True else None
    # IFF_RUNNING is not in sysfs; the kernel sets it for operstate up, and for unknown with a carrier
    running = then(operstate, lambda state: carrier if state == "unknown" else state == "up")
    return Interface(
        name=name,
        index=tree.number(f"{folder}/ifindex"),
        flags=flags,
        up=_bit(flags, _UP),
        running=_bit(flags, _RUNNING) if live_flags is not None else running,
        loopback=_bit(flags, _LOOPBACK),
        point_to_point=_bit(flags, _POINT_TO_POINT),
        operstate=operstate,
        carrier=carrier,
        carrier_changes=tree.number(f"{folder}/carrier_changes"),
        mtu=tree.number(f"{folder}/mtu"),
        speed_mbps=_speed(tree, name, 0),
        arp_type=tree.number(f"{folder}/type"),
        kind=_kind(tree, folder),
        virtual=virtual,
        driver=device or tree.link_name(f"{folder}/device/driver"),
        vendor=device or tree.text(f"{folder}/device/vendor"),
        device=device or tree.text(f"{folder}/device/device"),
        pci=device or tree.pci_address(folder),
        numa_node=device or tree.number(f"{folder}/device/numa_node"),
        master=or_none(tree.link_name(f"{folder}/master")) or "",
        lower=lower(tree, folder),
        bond_mode=_word(tree, f"{folder}/bonding/mode"),
        bond_active=_word(tree, f"{folder}/bonding/active_slave"),
    )


def _bit(flags: Count, bit: int) -> Flag:
    return then(flags, lambda bits: bool(bits & bit))


def _carrier(tree: Tree, folder: str) -> Flag:
    number = tree.number(f"{folder}/carrier")
    if isinstance(number, Unknown) and number.reason.endswith("Invalid argument"):
        return Unknown("not reported while the interface is down")
    return then(number, lambda carrier: carrier == 1)


def _kind(tree: Tree, folder: str) -> str:
    if kind := (or_none(tree.rows(f"{folder}/uevent", "=")) or {}).get("DEVTYPE"):
        return kind
    marks = {"bonding": "bond", "bridge": "bridge", "tun_flags": "tun", "wireless": "wlan"}
    return next((kind for mark, kind in marks.items() if tree.exists(f"{folder}/{mark}") is True), "")


def _word(tree: Tree, path: str) -> str:
    """The first word: the mode of a bond is followed by its number."""
    return (or_none(tree.text(path)) or "").partition(" ")[0]


@or_unknown
def _speed(tree: Tree, name: str, depth: int) -> int:
    folder = f"{_NET}/{name}"
    if depth > 4:  # a VLAN on a bond of VLANs is as deep as it gets; a circle is deeper
        raise NotKnown("too many stacked interfaces")
    if mode := _word(tree, f"{folder}/bonding/mode"):
        return _bond_speed(tree, folder, mode, depth)
    if _kind(tree, folder) == "vlan":
        below = lower(tree, folder)
        if not below:
            raise NotKnown("the VLAN's parent interface is not visible")
        return known(_speed(tree, below[0], depth + 1))
    if tree.exists(f"{folder}/device") is False:
        raise NotKnown(VIRTUAL)
    return checked_speed(tree, folder, tree.number(f"{folder}/speed"))


def checked_speed(tree: Tree, folder: str, speed: Count) -> int:
    """The speed that a network card names, where it means something. Raises NotKnown."""
    driver = tree.link_name(f"{folder}/device/driver")
    if driver in _MADE_UP:
        raise NotKnown(f"{driver} is a VM's virtual NIC; its speed is not a link speed")
    if not 0 < known(speed) < _NOT_REAL:
        raise NotKnown("the driver does not report its speed")
    return known(speed)


def lower(tree: Tree, folder: str) -> tuple[str, ...]:
    return tuple(entry[6:] for entry in or_none(tree.names(folder)) or () if entry.startswith("lower_"))


def _bond_speed(tree: Tree, folder: str, mode: str, depth: int) -> int:
    """A bond sends over all of its working links, or over the active one."""
    members = tree.text(f"{folder}/bonding/{'active_slave' if mode == 'active-backup' else 'slaves'}")
    names = (or_none(members) or "").split()
    total = 0
    for name in names:
        if tree.text(f"{_NET}/{name}/operstate") != "down":
            speed = _speed(tree, name, depth + 1)
            if isinstance(speed, Unknown):
                raise NotKnown(f"it is a bond; {name}: {speed.reason}")
            total += speed
    if not total:
        raise NotKnown("a bond without an active link")
    return total


@or_unknown
def _addresses(tree: Tree) -> tuple[Address, ...]:
    """IPv4 out of fib_trie and route, IPv6 out of if_inet6."""
    trie, routes = known(tree.lines("/proc/net/fib_trie")), known(tree.lines("/proc/net/route"))
    on_link = list(_on_link(routes[1:]))
    four = {address: _own(address, on_link) for address in _local(trie)}
    homeless = [str(address) for address, own in four.items() if own is None]
    if homeless:
        raise NotKnown(f"the routes do not show which interface has {', '.join(homeless[:4])}")
    six = (
        Address(interface=row[5], address=str(_ipv6(row[0])), prefix_len=int(row[2], 16), family="AF_INET6")
        for row in map(str.split, or_none(tree.lines("/proc/net/if_inet6")) or ())
        if len(row) == 6
    )
    return (*(own for own in four.values() if own), *six)


def _local(trie: tuple[str, ...]) -> Iterator[ipaddress.IPv4Address]:
    """The host's own addresses: `|-- 10.0.0.5` that is followed by `/32 host LOCAL`."""
    last = ""
    for line in trie:
        if "|-- " in line:
            last = line.partition("|-- ")[2].strip()
        elif "/32 host LOCAL" in line:
            yield ipaddress.IPv4Address(last)


def _on_link(lines: tuple[str, ...]) -> Iterator[tuple[str, ipaddress.IPv4Network]]:
    for row in map(str.split, lines):
        if len(row) > 7 and row[2] == _ANY and row[7] != _ANY:
            yield row[0], ipaddress.IPv4Network(f"{_swapped(row[1])}/{int(row[7], 16).bit_count()}")


def _own(address: ipaddress.IPv4Address, on_link: list[tuple[str, ipaddress.IPv4Network]]) -> Address | None:
    if address.is_loopback:
        return Address(interface="lo", address=str(address), prefix_len=8, family="AF_INET")
    above = [(network.prefixlen, name) for name, network in on_link if address in network]
    if not above:
        return None
    length, name = max(above)
    return Address(interface=name, address=str(address), prefix_len=length, family="AF_INET")


def sockets(tree: Tree) -> Network:
    return Network(routes=_routes(tree), listeners=_listeners(tree), resolv_conf=_resolv_conf(tree))


@or_unknown
def _routes(tree: Tree) -> tuple[Route, ...]:
    four, six = known(tree.lines("/proc/net/route")), tree.lines("/proc/net/ipv6_route")
    found = [*_four(four[1:]), *_six(or_none(six) or ())]
    if len(found) > _MOST:
        found.sort(key=lambda route: (bool(route.gateway), not route.destination.endswith("/0")))
    return tuple(found[:_MOST])


def _four(lines: tuple[str, ...]) -> Iterator[Route]:
    for row in map(str.split, lines):
        if len(row) >= 8 and int(row[3], 16) & _RTF_UP:
            gateway = "" if row[2] == _ANY else str(_swapped(row[2]))
            destination = f"{_swapped(row[1])}/{int(row[7], 16).bit_count()}"
            yield Route(interface=row[0], destination=destination, gateway=gateway, metric=int(row[6]))


def _swapped(word: str) -> ipaddress.IPv4Address:
    """The kernel prints the four bytes as one little-endian number."""
    return ipaddress.IPv4Address(bytes.fromhex(word)[::-1])


def _six(lines: tuple[str, ...]) -> Iterator[Route]:
    for row in map(str.split, lines):
        if len(row) == 10 and row[9] != "lo" and not int(row[8], 16) & _RTF_LOCAL and row[0][:2] != "ff":
            gateway = _ipv6(row[4])
            yield Route(
                interface=row[9],
                destination=f"{_ipv6(row[0])}/{int(row[1], 16)}",
                gateway="" if gateway.is_unspecified else str(gateway),
                metric=int(row[5], 16),
            )


def _ipv6(digits: str) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(int(digits, 16))


@or_unknown
def _listeners(tree: Tree) -> tuple[Listener, ...]:
    lines = (*known(tree.lines("/proc/net/tcp"))[1:], *(or_none(tree.lines("/proc/net/tcp6")) or ())[1:])
    found = {_listener(row) for row in map(str.split, lines) if len(row) > 7 and row[3] == _LISTEN}
    return tuple(sorted(found, key=lambda one: (one.port, one.address))[:_MOST])


def _listener(row: list[str]) -> Listener:
    address, _, port = row[1].partition(":")
    return Listener(address=_words_swapped(address), port=int(port, 16), uid=int(row[7]))


def _words_swapped(digits: str) -> str:
    """Each group of four bytes is a little-endian number, also in an IPv6 address."""
    raw = bytes.fromhex(digits)
    return str(ipaddress.ip_address(b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))))


@or_unknown
def _resolv_conf(tree: Tree) -> str:
    lines = known(tree.lines("/etc/resolv.conf"))
    return "\n".join(line.strip() for line in lines if not line.lstrip().startswith(("#", ";")))


SOURCES = (Source.quick("interfaces", "network", read), Source.quick("sockets", "network", sockets))
