"""Network interfaces and their addresses, in the order in which NCCL meets them."""

import ctypes
import ipaddress
import os
import socket
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address, Count, Flag, Interface, Network, Text
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_NET = "/sys/class/net"
_UP, _LOOPBACK, _POINT_TO_POINT, _RUNNING = 0x1, 0x8, 0x10, 0x40
_MADE_UP = ("virtio_net", "hv_netvsc", "vmxnet3", "xen_netfront", "vif", "e1000", "8139cp")
"""Drivers of network cards that exist only in a virtual machine: what speed they name means nothing."""
_NOT_REAL = 2**31
"""Speeds from here on are -1 read as an unsigned number."""
_NO_DEVICE = Unknown("it is virtual")


def read(tree: Tree, env: Mapping[str, str]) -> Network:
    """Interfaces and addresses."""
    del env
    listed = _getifaddrs() if tree.live else Unknown(CAPTURED)
    if isinstance(listed, Unknown):
        addresses = _from_proc(tree)
        return Network(interfaces=_interfaces(tree, {}), addresses=addresses, addresses_source="/proc/net")
    flags = {name: bits for name, bits, address in listed if address is None}
    return Network(
        interfaces=_interfaces(tree, flags),
        addresses=tuple(address for _, _, address in listed if address is not None),
        addresses_source="getifaddrs",
    )


def _interfaces(tree: Tree, flags: Mapping[str, int]) -> tuple[Interface, ...] | Unknown:
    names = tree.names(_NET)
    if isinstance(names, Unknown):
        return names
    # bonding_masters is a file among the links
    found = [_interface(tree, name, flags.get(name)) for name in names if name != "bonding_masters"]
    return tuple(sorted(found, key=lambda one: one.index if isinstance(one.index, int) else 0))


def _interface(tree: Tree, name: str, live_flags: int | None) -> Interface:
    folder = f"{_NET}/{name}"
    flags = tree.number(f"{folder}/flags", 16) if live_flags is None else live_flags
    operstate, carrier = tree.text(f"{folder}/operstate"), _carrier(tree, folder)
    kind = _kind(tree, folder)
    virtual = _virtual(tree, folder)
    device = _NO_DEVICE if virtual is True else None
    master = tree.link_name(f"{folder}/master")
    return Interface(
        name=name,
        index=tree.number(f"{folder}/ifindex"),
        flags=flags,
        up=_bit(flags, _UP),
        running=_bit(flags, _RUNNING) if live_flags is not None else _running(operstate, carrier),
        loopback=_bit(flags, _LOOPBACK),
        point_to_point=_bit(flags, _POINT_TO_POINT),
        operstate=operstate,
        carrier=carrier,
        carrier_changes=tree.number(f"{folder}/carrier_changes"),
        mtu=tree.number(f"{folder}/mtu"),
        speed_mbps=_speed(tree, name, 0),
        arp_type=tree.number(f"{folder}/type"),
        kind=kind,
        virtual=virtual,
        driver=device or tree.link_name(f"{folder}/device/driver"),
        vendor=device or tree.text(f"{folder}/device/vendor"),
        device=device or tree.text(f"{folder}/device/device"),
        pci=device or _pci(tree, folder),
        numa_node=device or tree.number(f"{folder}/device/numa_node"),
        master="" if isinstance(master, Unknown) else master,
        lower=_lower(tree, folder),
        bond_mode=_word(tree, f"{folder}/bonding/mode"),
        bond_active=_word(tree, f"{folder}/bonding/active_slave"),
    )


def _bit(flags: Count, bit: int) -> Flag:
    return flags if isinstance(flags, Unknown) else bool(flags & bit)


def _carrier(tree: Tree, folder: str) -> Flag:
    number = tree.number(f"{folder}/carrier")
    if isinstance(number, Unknown) and number.reason.endswith("Invalid argument"):
        return Unknown("the kernel does not say while the interface is down")
    return number if isinstance(number, Unknown) else number == 1


def _running(operstate: Text, carrier: Flag) -> Flag:
    """IFF_RUNNING is not in sysfs; the kernel sets it for operstate up, and for unknown with a carrier."""
    if isinstance(operstate, Unknown):
        return operstate
    return carrier if operstate == "unknown" else operstate == "up"


def _kind(tree: Tree, folder: str) -> str:
    uevent = tree.lines(f"{folder}/uevent")
    types = () if isinstance(uevent, Unknown) else [line[8:] for line in uevent if line.startswith("DEVTYPE=")]
    if types:
        return types[0]
    marks = {"bonding": "bond", "bridge": "bridge", "tun_flags": "tun", "wireless": "wlan"}
    return next((kind for mark, kind in marks.items() if tree.exists(f"{folder}/{mark}") is True), "")


def _virtual(tree: Tree, folder: str) -> Flag:
    there = tree.exists(f"{folder}/device")
    return there if isinstance(there, Unknown) else not there


def _pci(tree: Tree, folder: str) -> Text:
    """The address of its PCI function; that of the virtio device's parent is not followed."""
    name = tree.link_name(f"{folder}/device")
    if isinstance(name, Unknown):
        return name
    return name if name.count(":") == 2 else Unknown(f"{name} is not a PCI device")


def _word(tree: Tree, path: str) -> str:
    """The first word: the mode of a bond is followed by its number."""
    text = tree.text(path)
    return "" if isinstance(text, Unknown) else text.partition(" ")[0]


def _speed(tree: Tree, name: str, depth: int) -> Count:
    folder = f"{_NET}/{name}"
    if depth > 4:  # a VLAN on a bond of VLANs is as deep as it gets; a circle is deeper
        return Unknown("it stands on too many others")
    if _word(tree, f"{folder}/bonding/mode"):
        return _bond_speed(tree, folder, depth)
    if _kind(tree, folder) == "vlan":
        lower = _lower(tree, folder)
        return (
            _speed(tree, lower[0], depth + 1) if lower else Unknown("what is under the VLAN is not visible here")
        )
    if _virtual(tree, folder) is True:
        return Unknown("it is virtual, and a speed that it names is not that of a wire")
    driver = tree.link_name(f"{folder}/device/driver")
    if driver in _MADE_UP:
        return Unknown(f"{driver} is a network card of a virtual machine; its speed is not that of a wire")
    speed = tree.number(f"{folder}/speed")
    if isinstance(speed, int) and not 0 < speed < _NOT_REAL:
        return Unknown("its driver does not know its speed")
    return speed


def _lower(tree: Tree, folder: str) -> tuple[str, ...]:
    entries = tree.names(folder)
    if isinstance(entries, Unknown):
        return ()
    return tuple(entry[6:] for entry in entries if entry.startswith("lower_"))


def _bond_speed(tree: Tree, folder: str, depth: int) -> Count:
    """A bond sends over all of its working links, or over the active one."""
    backup = _word(tree, f"{folder}/bonding/mode") == "active-backup"
    members = tree.text(f"{folder}/bonding/{'active_slave' if backup else 'slaves'}")
    names = [] if isinstance(members, Unknown) else members.split()
    working = [name for name in names if tree.text(f"{_NET}/{name}/operstate") != "down"]
    total = 0
    for name in working:
        speed = _speed(tree, name, depth + 1)
        if isinstance(speed, Unknown):
            return Unknown(f"it is a bond; {name}: {speed.reason}")
        total += speed
    return total or Unknown("it is a bond; no link of it is up")


class _Sockaddr(ctypes.Structure):
    _fields_ = (("family", ctypes.c_uint16), ("data", ctypes.c_ubyte * 26))


class _Ifaddrs(ctypes.Structure):
    pass


_Ifaddrs._fields_ = (
    ("next", ctypes.POINTER(_Ifaddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.POINTER(_Sockaddr)),
    ("netmask", ctypes.POINTER(_Sockaddr)),
    ("other", ctypes.POINTER(_Sockaddr)),
    ("data", ctypes.c_void_p),
)
_Row = tuple[str, int, Address | None]


def _getifaddrs() -> list[_Row] | Unknown:
    """(name, flags, address) in the C library's order, which NCCL sees too; address None = the link."""
    library = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Ifaddrs)()
    if library.getifaddrs(ctypes.byref(first)) != 0:
        return Unknown(f"getifaddrs failed: {os.strerror(ctypes.get_errno())}")
    try:
        return list(_rows(first))
    finally:
        library.freeifaddrs(first)


def _rows(entry: "ctypes._Pointer[_Ifaddrs]") -> Iterator[_Row]:
    while entry:
        one = entry.contents
        name, family = os.fsdecode(one.name), one.address.contents.family if one.address else None
        if family == socket.AF_PACKET:
            yield name, one.flags, None
        elif family in (socket.AF_INET, socket.AF_INET6):
            yield name, one.flags, _address(name, family, one)
        entry = one.next


def _address(name: str, family: int, one: _Ifaddrs) -> Address:
    start, size = (2, 4) if family == socket.AF_INET else (6, 16)  # after the port; and the flow label
    raw = bytes(one.address.contents.data[start : start + size])
    mask = bytes(one.netmask.contents.data[start : start + size]) if one.netmask else None
    return Address(
        interface=name,
        address=str(ipaddress.ip_address(raw)),
        prefix_len=Unknown("getifaddrs gives no mask") if mask is None else int.from_bytes(mask).bit_count(),
        family="AF_INET" if family == socket.AF_INET else "AF_INET6",
    )


def _from_proc(tree: Tree) -> tuple[Address, ...] | Unknown:
    """IPv4 out of fib_trie and route, IPv6 out of if_inet6."""
    trie, routes = tree.lines("/proc/net/fib_trie"), tree.lines("/proc/net/route")
    if isinstance(trie, Unknown) or isinstance(routes, Unknown):
        return next(one for one in (trie, routes) if isinstance(one, Unknown))
    six = tree.lines("/proc/net/if_inet6")
    on_link = list(_on_link(routes))
    four = [(address, _own(address, on_link)) for address in dict.fromkeys(_local(trie))]
    homeless = [str(address) for address, own in four if own is None]
    if homeless:
        return Unknown(f"the routes do not tell which interface has {', '.join(homeless[:4])}")
    rows = [] if isinstance(six, Unknown) else [line.split() for line in six]
    return (
        *(own for _, own in four if own),
        *(
            Address(interface=row[5], address=_six(row[0]), prefix_len=int(row[2], 16), family="AF_INET6")
            for row in rows
            if len(row) == 6
        ),
    )


def _local(trie: tuple[str, ...]) -> Iterator[ipaddress.IPv4Address]:
    """The host's own addresses: `|-- 10.0.0.5` that is followed by `/32 host LOCAL`."""
    last = ""
    for line in trie:
        if "|-- " in line:
            last = line.partition("|-- ")[2].strip()
        elif "/32 host LOCAL" in line:
            yield ipaddress.IPv4Address(last)


def _on_link(routes: tuple[str, ...]) -> Iterator[tuple[str, ipaddress.IPv4Network]]:
    for line in routes[1:]:
        row = line.split()
        if len(row) > 7 and row[2] == "00000000" and row[7] != "00000000":
            # the kernel prints the bytes as one little-endian number
            network, mask = (int.from_bytes(bytes.fromhex(word)[::-1]) for word in (row[1], row[7]))
            yield row[0], ipaddress.IPv4Network((network, mask.bit_count()))


def _own(address: ipaddress.IPv4Address, on_link: list[tuple[str, ipaddress.IPv4Network]]) -> Address | None:
    if address.is_loopback:
        return Address(interface="lo", address=str(address), prefix_len=8, family="AF_INET")
    above = [(network.prefixlen, name) for name, network in on_link if address in network]
    if not above:
        return None
    length, name = max(above)
    return Address(interface=name, address=str(address), prefix_len=length, family="AF_INET")


def _six(digits: str) -> str:
    return str(ipaddress.IPv6Address(int(digits, 16)))


SOURCES = (Source.quick("interfaces", "network", read),)
