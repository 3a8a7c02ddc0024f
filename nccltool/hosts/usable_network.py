"""The network of a host as a backend uses it, and how fast its links are together.

A rate is each way, without what protocols add; where it cannot be told there is a reason instead.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import NotKnown, known, or_none
from nccltool.hosts.link_rates import LinkRate, PcieSlot
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.nccl.values import NameList

_Rates = tuple[LinkRate, ...] | Unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class UsableNetwork:
    """The network of one host, as far as the backend can use it."""

    bytes_per_s: float | None = None
    """Each way; None = not known."""
    text: str
    """What it consists of and the file that says so; or why it is not known."""
    transport: str | None = None
    """socket, ib or roce; None = not known."""
    devices: str | None = None
    """The devices and their rates without their names, the same on hosts that are alike; None = not known."""


def of_nccl(host: NcclHost, ethernet: _Rates, rdma: _Rates) -> UsableNetwork:
    """What NCCL takes of a host's network, by its settings there, and the rates of those links."""
    try:
        if host.network_kind == "Socket":
            return _for_sockets(host, ethernet)
        ports = _ports(host, rdma)
    except NotKnown as why:
        return UsableNetwork(text=str(why))
    if not ports:
        return UsableNetwork(text="no port of an RDMA adapter that NCCL may use is active")
    layers = {port.link_layer for port in ports}  # EFA and mixtures are not told apart here: plugins decide
    verbs = {"InfiniBand": "ib", "Ethernet": "roce"}.get(layers.pop()) if len(layers) == 1 else None
    return _together(ports, "/sys/class/infiniband/*/ports/*/rate", verbs)


def _ports(host: NcclHost, rdma: _Rates) -> list[LinkRate]:
    """The ports that NCCL's own network takes; a plugin may take others too, such as those of EFA."""
    ports = known(rdma)
    if host.network_kind == "IB":
        names = {port.name for port in host.active_ports}
        return [port for port in ports if port.name in names]
    wanted = host.settings.names("NCCL_IB_HCA")
    return [port for port in ports if port.up is not False and (wanted is None or _chosen(wanted, port))]


def _chosen(wanted: NameList, port: LinkRate) -> bool:
    device, _, number = port.name.partition(":")
    return wanted.chooses(device, int(number))


def of_gloo(name: str, ethernet: _Rates) -> UsableNetwork:
    """What Gloo takes: the interface in GLOO_SOCKET_IFNAME ('' = its own choice)."""
    nic = next((nic for nic in or_none(ethernet) or () if nic.name == name), None)
    if nic is not None:
        return _together([nic], nic.source, "socket")
    why = "Gloo chose its interface itself"
    if "," in name:
        why = f"Gloo takes turns between {name}"
    elif name:
        absent = f"Gloo uses {name}, which is not in /sys/class/net"
        why = ethernet.reason if isinstance(ethernet, Unknown) else absent
    return UsableNetwork(text=why, transport="socket")


def _for_sockets(host: NcclHost, ethernet: _Rates) -> UsableNetwork:
    """All interfaces that NCCL chooses, at the same time; of those that nobody named, the ones with hardware."""
    if isinstance(ethernet, Unknown):
        return UsableNetwork(text=ethernet.reason, transport="socket")
    wanted = host.settings.names("NCCL_SOCKET_IFNAME")
    told = wanted is not None and not wanted.exclude
    names = {one.name.partition(":")[0] for one in host.interfaces.chosen}
    nics = [nic for nic in ethernet if nic.name in names]
    if not told:  # a bond has the rate of what is under it
        nics = [nic for nic in nics if not nic.virtual] or [
            nic for nic in nics if not isinstance(nic.bytes_per_s, Unknown)
        ]
    if not nics:
        return UsableNetwork(text="no interface with hardware behind it is up", transport="socket")
    return _together(nics, "/sys/class/net/*/speed", "socket")


def _together(nics: Sequence[LinkRate], source: str, transport: str | None) -> UsableNetwork:
    """Links that are used at the same time."""
    for nic in nics:
        if isinstance(nic.bytes_per_s, Unknown):
            text = f"{nic.name}: {nic.bytes_per_s.reason} ({nic.source})"
            return UsableNetwork(text=text, transport=transport)
    groups = Counter(_gigabits(nic) for nic in nics)
    devices = ", ".join(f"{count} x {kind}" for kind, count in groups.items())
    text = f"{nics[0].name} {_gigabits(nics[0])}" if len(nics) == 1 else devices
    rates: dict[PcieSlot, float] = defaultdict(float)  # what the links of each slot could do together
    for nic in nics:
        if nic.slot is not None:
            rates[nic.slot] += known(nic.bytes_per_s)
    lost = {slot: rate - slot.bytes_per_s for slot, rate in rates.items() if rate > slot.bytes_per_s}
    rate = sum(known(nic.bytes_per_s) for nic in nics) - sum(lost.values())
    kinds = ", ".join(f"{count} x PCIe {kind}" for kind, count in Counter(slot.text for slot in lost).items())
    less = f", in slots that allow less: {kinds}" if lost else ""
    text = f"{text} ({source}{less})"
    return UsableNetwork(bytes_per_s=rate, text=text, transport=transport, devices=devices)


def _gigabits(nic: LinkRate) -> str:
    rate = f"{known(nic.bytes_per_s) * 8 / 1e9:g} Gb/s"
    return f"{rate} {nic.link_layer}" if nic.link_layer in ("InfiniBand", "Ethernet") else rate
