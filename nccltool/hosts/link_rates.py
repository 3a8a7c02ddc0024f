"""Network devices of this host and the rates of their links, from /sys.

A rate is only taken from a link that is real. A virtual interface names a speed that means nothing (veth says
10000, whatever it leads to), and so do the network cards that a hypervisor makes up; a bond and a VLAN have
the rate of what is under them. A PCIe slot may be slower than the links of the adapter in it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_NET = Path("sys/class/net")
_RDMA = Path("sys/class/infiniband")
_MADE_UP = ("virtio_net", "hv_netvsc", "vmxnet3", "xen_netfront", "vif", "e1000", "8139cp")
"""Drivers of network cards that exist only in a virtual machine."""
_EFA_FIXED = 100e9 / 8
"""The efa driver of older kernels names this rate for every device, whatever it is."""
_PCIE_USED = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 242 / 256}
"""Of each rate in GT/s, what encoding (and in flits, checks) leaves for packets: PCI Express 6.0, 4.2."""
_ADDRESS = re.compile(r"([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2})\.[0-7]")
_NOT_REAL = 2**31
"""Speeds from here on are -1 read as an unsigned number."""


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
    bytes_per_s: float | None
    """Each way; None = not known."""
    reason: str | None = None
    """Why the rate is not known."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkRates:
    """All devices of a kind; None = they could not be listed, for this reason."""

    nics: tuple[LinkRate, ...] | None
    reason: str | None = None


def ethernet(root: Path = Path("/")) -> LinkRates:
    """The network interfaces, without the loopback."""
    try:
        entries = sorted((root / _NET).iterdir())
        names = [entry.name for entry in entries if entry.is_symlink() or entry.is_dir()]  # not bonding_masters
    except OSError as error:
        return LinkRates(nics=None, reason=f"/{_NET} cannot be read: {error.strerror}")
    return LinkRates(nics=tuple(interface(name, root) for name in names if name != "lo"))


def interface(name: str, root: Path = Path("/")) -> LinkRate:
    """One network interface."""
    folder = root / _NET / name
    virtual = _is_dir(folder) and not _is_dir(folder / "device")
    rate, reason = _rate(folder, virtual, root)
    return LinkRate(
        name=name,
        up=_is_up(folder),
        virtual=virtual,
        bytes_per_s=rate,
        reason=reason,
        source=f"/{_NET / name}/speed",
        slot=_slot(folder, root),
    )


def _rate(folder: Path, virtual: bool, root: Path) -> tuple[float | None, str | None]:
    if not _is_dir(folder):
        return None, f"/{_NET / folder.name} cannot be read"
    if _is_dir(folder / "bonding"):
        return _bond(folder, root)
    if "DEVTYPE=vlan" in _words(folder / "uevent"):
        return _vlan(folder, root)
    if virtual:
        return None, "it is virtual, and a speed that it names is not that of a wire"
    return _speed(folder)


def rdma(root: Path = Path("/")) -> LinkRates:
    """The ports of the RDMA adapters: InfiniBand, RoCE, EFA."""
    if not _is_dir(root / _RDMA.parent):
        return LinkRates(nics=None, reason=f"/{_RDMA.parent} cannot be read")
    if not _is_dir(root / _RDMA):  # no driver of an RDMA adapter is loaded
        return LinkRates(nics=())
    try:
        adapters = sorted((root / _RDMA).iterdir(), key=_natural)
        ports = [port for adapter in adapters for port in sorted((adapter / "ports").iterdir(), key=_natural)]
    except OSError as error:
        where = Path(error.filename).relative_to(root)
        return LinkRates(nics=None, reason=f"/{where} cannot be read: {error.strerror}")
    return LinkRates(nics=tuple(_port(port, root) for port in ports))


def _port(folder: Path, root: Path) -> LinkRate:
    adapter = folder.parts[-3]
    state = _text(folder / "state")
    layer = _text(folder / "link_layer") or "Unknown"
    rate, reason = _port_rate(folder, root)
    return LinkRate(
        name=f"{adapter}:{folder.name}",
        up=None if state is None else state.endswith("ACTIVE"),
        link_layer=layer,
        bytes_per_s=rate,
        reason=reason,
        source=f"/{_RDMA / adapter}/ports/{folder.name}/rate",
        slot=None if _bond_under(folder, root) else _slot(folder.parent.parent, root),  # it may span adapters
    )


def _port_rate(folder: Path, root: Path) -> tuple[float | None, str | None]:
    text = _text(folder / "rate")
    match = re.match(r"(\d+(?:\.\d+)?) Gb/sec", text or "")
    if match is None:
        return None, "its rate cannot be read" if text is None else f"its rate is {text!r}"
    rate = float(match[1]) * 1e9 / 8
    if _driver(folder.parent.parent) == "efa" and rate == _EFA_FIXED:
        return None, "an efa driver that is not recent says 100 Gb/s whatever the device is"
    bond = _bond_under(folder, root)
    # the adapter of a bond names the rate of one of its links
    return (rate, None) if bond is None else _bond(bond, root)


def _bond_under(port: Path, root: Path) -> Path | None:
    """The folder of the bond that a RoCE port runs over, if any."""
    names = {_text(file) for file in (port / "gid_attrs/ndevs").glob("*")}  # an empty slot cannot be read
    folders = [root / _NET / name for name in names if name]
    return next((folder for folder in folders if _is_dir(folder / "bonding")), None)


def _bond(folder: Path, root: Path) -> tuple[float | None, str | None]:
    """A bond sends over all of its working links, or over the active one."""
    mode = _words(folder / "bonding/mode")
    members = _words(folder / ("bonding/active_slave" if "active-backup" in mode else "bonding/slaves"))
    links = [link for link in (interface(name, root) for name in members) if link.up is not False]
    unknown = [link for link in links if link.bytes_per_s is None]
    if not mode or not links or unknown:
        why = f"{unknown[0].name}: {unknown[0].reason}" if unknown else "no link of it is up"
        return None, f"it is a bond; {why}"
    return sum(link.bytes_per_s or 0.0 for link in links), None


def _vlan(folder: Path, root: Path) -> tuple[float | None, str | None]:
    lower = sorted(link.name.removeprefix("lower_") for link in folder.glob("lower_*"))
    if len(lower) != 1:
        return None, "it is a VLAN, and the interface under it is not visible here"
    under = interface(lower[0], root)
    return under.bytes_per_s, under.reason and f"it is a VLAN on {under.name}; {under.reason}"


def _speed(folder: Path) -> tuple[float | None, str | None]:
    driver = _driver(folder)
    if driver in _MADE_UP:
        return None, f"{driver} is a network card of a virtual machine; its speed is not that of a wire"
    try:
        megabits = int((folder / "speed").read_text())
    except OSError as error:  # EINVAL: the link is down, or the driver has no answer
        return None, f"its speed cannot be read: {error.strerror}"
    except ValueError:
        return None, "its speed is not a number"
    if not 0 < megabits < _NOT_REAL:
        return None, "its driver does not know its speed"
    return megabits * 1e6 / 8, None


def _slot(device_of: Path, root: Path) -> PcieSlot | None:
    """The slower of the adapter and the port above it. What a virtual machine shows of either may be made up."""
    try:
        device = (device_of / "device").resolve(strict=True)
    except OSError:
        return None
    address = _ADDRESS.fullmatch(device.name)
    if address is None or _is_dir(device / "physfn"):
        return None
    above = [device.parent] if _ADDRESS.fullmatch(device.parent.name) else []
    ends = [_pcie(function) for function in (device, *above)]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends) or not _is_bare(root):
        return None
    rate, text = min(known)
    return PcieSlot(address=address[1], text=text, bytes_per_s=rate)


def _pcie(function: Path) -> tuple[float, str] | None:
    """(bytes per second each way, `16 GT/s x16`) that a device can do."""
    speed = re.match(r"(\d+(?:\.\d+)?) GT/s", _text(function / "max_link_speed") or "")
    width = _text(function / "max_link_width") or ""
    used = _PCIE_USED.get(float(speed[1])) if speed else None
    if speed is None or used is None or not width.isdigit() or not 1 <= int(width) <= 32:
        return None
    return float(speed[1]) * 1e9 * int(width) * used / 8, f"{float(speed[1]):g} GT/s x{width}"


def _is_bare(root: Path) -> bool:
    """Whether no hypervisor is below for sure: x86 has a flag for it.

    Read as far as the first processor only, since the kernel asks each of hundreds for its clock.
    """
    try:
        with (root / "proc/cpuinfo").open() as lines:
            flags = next((line for line in lines if line.startswith("flags")), None)
    except (OSError, UnicodeDecodeError):
        return False
    return flags is not None and "hypervisor" not in flags.split()


def _is_up(folder: Path) -> bool | None:
    state = _text(folder / "operstate")
    return None if state in (None, "unknown") else state == "up"


def _driver(device_of: Path) -> str | None:
    try:
        return (device_of / "device/driver").readlink().name
    except OSError:
        return None


def _natural(path: Path) -> tuple[tuple[str, int], ...]:
    """mlx5_2 comes before mlx5_10."""
    return tuple((word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", path.name))


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _words(file: Path) -> list[str]:
    return (_text(file) or "").split()
