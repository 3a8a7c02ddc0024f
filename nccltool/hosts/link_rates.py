"""Network devices of this host and the rates of their links, from /sys.

A rate is only taken from a link that is real. A virtual interface names a speed that means nothing (veth says
10000, whatever it leads to), and so do the network cards that a hypervisor makes up; a bond and a VLAN have
the rate of what is under them. A PCIe slot may be slower than the links of the adapter in it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Text
from nccltool.hosts.facts.leaves import NotKnown, Number, known, or_none, or_unknown
from nccltool.hosts.sources.base import Tree
from nccltool.hosts.sources.interfaces import VIRTUAL, checked_speed, lower
from nccltool.hosts.sources.rdma import rate_and_width

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"
_PCIE_USED = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 242 / 256}
"""Of each rate in GT/s, what encoding (and in flits, checks) leaves for packets: PCI Express 6.0, 4.2."""
_ADDRESS = re.compile(r"([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]")


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkRate:
    """An interface, or a port of an RDMA adapter."""

    name: str
    """eth0; or mlx5_0:1 for port 1 of the adapter mlx5_0."""
    up: bool | None
    """The link works; None = it does not say."""
    virtual: bool = False
    """No hardware is behind it."""
    link_layer: str = "Ethernet"
    """Ethernet or InfiniBand; an RDMA port over Ethernet is RoCE."""
    bytes_per_s: Number
    """Each way."""
    source: str
    """The file that tells."""
    slot: "PcieSlot | None" = None
    """Where it is plugged in; None = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PcieSlot:
    """A PCIe slot as it was built; one that trains lower is a fault, and no smaller limit."""

    address: str
    """Domain, bus and device; the functions of an adapter share them."""
    text: str
    bytes_per_s: float
    """Each way, before headers."""


@or_unknown
def ethernet(root: Path = Path("/")) -> tuple[LinkRate, ...]:
    """The network interfaces, without the loopback."""
    tree = Tree.at(root)
    names = sorted(known(tree.names(_NET)))
    return tuple(interface(tree, name) for name in names if name not in ("lo", "bonding_masters"))


def interface(tree: Tree, name: str) -> LinkRate:
    folder = f"{_NET}/{name}"
    there = tree.exists(folder) is True
    virtual = there and tree.exists(f"{folder}/device") is not True
    state = or_none(tree.text(f"{folder}/operstate"))
    return LinkRate(
        name=name,
        up=None if state in (None, "unknown") else state == "up",
        virtual=virtual,
        bytes_per_s=_rate(tree, folder, virtual) if there else Unknown(f"{folder} cannot be read"),
        source=f"{folder}/speed",
        slot=_slot(tree, folder),
    )


@or_unknown
def _rate(tree: Tree, folder: str, virtual: bool) -> float:
    if tree.exists(f"{folder}/bonding") is True:
        return _bond(tree, folder)
    if "DEVTYPE=vlan" in _words(tree, f"{folder}/uevent"):
        return _vlan(tree, folder)
    if virtual:
        raise NotKnown(VIRTUAL)
    return checked_speed(tree, folder, _speed(tree, folder)) * 1e6 / 8


def _speed(tree: Tree, folder: str) -> int | Unknown:
    try:
        return int(Path(f"{tree.root}{folder}/speed").read_text())
    except OSError as error:  # EINVAL: the link is down, or the driver has no answer
        return Unknown(f"speed cannot be read: {error.strerror}")
    except ValueError:
        return Unknown("speed is not a number")


def _bond(tree: Tree, folder: str) -> float:
    """A bond sends over all of its working links, or over the active one."""
    mode = _words(tree, f"{folder}/bonding/mode")
    members = _words(tree, f"{folder}/bonding/{'active_slave' if 'active-backup' in mode else 'slaves'}")
    links = [link for link in (interface(tree, name) for name in members) if link.up is not False]
    for link in links:
        if isinstance(link.bytes_per_s, Unknown):
            raise NotKnown(f"it is a bond; {link.name}: {link.bytes_per_s.reason}")
    if not mode or not links:
        raise NotKnown("a bond without an active link")
    return sum(known(link.bytes_per_s) for link in links)


def _vlan(tree: Tree, folder: str) -> float:
    below = lower(tree, folder)
    if len(below) != 1:
        raise NotKnown("a VLAN whose parent interface is not visible")
    rate = interface(tree, below[0]).bytes_per_s
    if isinstance(rate, Unknown):
        raise NotKnown(f"it is a VLAN on {below[0]}; {rate.reason}")
    return rate


@or_unknown
def rdma(root: Path = Path("/")) -> tuple[LinkRate, ...]:
    """The ports of the RDMA adapters: InfiniBand, RoCE, EFA."""
    tree = Tree.at(root)
    if tree.exists("/sys/class") is not True:
        raise NotKnown("/sys/class cannot be read")
    if tree.exists(_RDMA) is not True:  # no driver of an RDMA adapter is loaded
        return ()
    ports = ((name, known(tree.names(f"{_RDMA}/{name}/ports"))) for name in known(tree.names(_RDMA)))
    return tuple(_port(tree, name, number) for name, numbers in ports for number in numbers)


def _port(tree: Tree, adapter: str, number: str) -> LinkRate:
    device = f"{_RDMA}/{adapter}"
    folder = f"{device}/ports/{number}"
    state, text = or_none(tree.text(f"{folder}/state")), tree.text(f"{folder}/rate")
    bond = _bond_under(tree, folder)
    return LinkRate(
        name=f"{adapter}:{number}",
        up=None if state is None else state.endswith("ACTIVE"),
        link_layer=or_none(tree.text(f"{folder}/link_layer")) or "Unknown",
        bytes_per_s=_port_rate(tree, device, text, bond),
        source=f"{folder}/rate",
        slot=None if bond else _slot(tree, device),  # it may span adapters
    )


@or_unknown
def _port_rate(tree: Tree, device: str, text: Text, bond: str | None) -> float:
    if isinstance(text, Unknown):
        raise NotKnown("rate cannot be read")
    gigabits, _ = rate_and_width(tree, device, text)
    own = known(gigabits) * 1e9 / 8
    return _bond(tree, bond) if bond else own  # the adapter of a bond names the rate of one of its links


def _bond_under(tree: Tree, port: str) -> str | None:
    """The folder of the bond that a RoCE port runs over, if any."""
    slots = or_none(tree.names(f"{port}/gid_attrs/ndevs")) or ()
    names = {tree.text(f"{port}/gid_attrs/ndevs/{slot}") for slot in slots}  # an empty slot cannot be read
    folders = [f"{_NET}/{name}" for name in names if name and not isinstance(name, Unknown)]
    return next((folder for folder in folders if tree.exists(f"{folder}/bonding") is True), None)


def _slot(tree: Tree, folder: str) -> PcieSlot | None:
    """The slower of the adapter and the port above it. What a virtual machine shows of either may be made up."""
    try:
        device = Path(f"{tree.root}{folder}/device").resolve(strict=True)
    except OSError:
        return None
    address = _ADDRESS.fullmatch(device.name)
    if address is None or (device / "physfn").is_dir():
        return None
    above = [device.parent] if _ADDRESS.fullmatch(device.parent.name) else []
    ends = [_pcie(function) for function in (device, *above)]
    told = [end for end in ends if end is not None]
    if len(told) < len(ends) or not _is_bare(tree):
        return None
    rate, text = min(told)
    return PcieSlot(address=address[1], text=text, bytes_per_s=rate)


def _pcie(function: Path) -> tuple[float, str] | None:
    """(bytes per second each way, `16 GT/s x16`) that a device can do."""
    speed = re.match(r"(\d+(?:\.\d+)?) GT/s", or_none(Tree().text(f"{function}/max_link_speed")) or "")
    width = whole(or_none(Tree().text(f"{function}/max_link_width")) or "")
    used = _PCIE_USED.get(float(speed[1])) if speed else None
    if speed is None or used is None or width is None or not 1 <= width <= 32:
        return None
    return float(speed[1]) * 1e9 * width * used / 8, f"{float(speed[1]):g} GT/s x{width}"


def _is_bare(tree: Tree) -> bool:
    """Whether no hypervisor is below for sure: x86 has a flag for it.

    Read as far as the first processor only, since the kernel asks each of hundreds for its clock.
    """
    try:
        with Path(f"{tree.root}/proc/cpuinfo").open() as lines:
            flags = next((line for line in lines if line.startswith("flags")), None)
    except (OSError, UnicodeDecodeError):
        return False
    return flags is not None and "hypervisor" not in flags.split()


def _words(tree: Tree, path: str) -> list[str]:
    return (or_none(tree.text(path)) or "").split()
