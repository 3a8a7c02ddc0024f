"""The network of a host as a backend uses it, and how fast its links are together.

A rate is each way, without what protocols add; where it cannot be told there is a reason instead. What is
published of a machine stands in for rates that it hides or makes up; where both are there, the lower counts.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from nccltool.core.unknown import Unknown
from nccltool.hosts import published_networks
from nccltool.hosts.facts import NotKnown, RdmaDevice, known, or_none
from nccltool.hosts.link_rates import LinkRate, PcieSlot
from nccltool.hosts.nccl import nic_search, values
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.nccl.nic_search import Nic
from nccltool.hosts.nccl.values import NameList
from nccltool.hosts.nvlink import NvLinkDomain
from nccltool.hosts.published_networks import PublishedNetwork

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
    domain: NvLinkDomain | None = None
    """How far NVLink reaches; None = nobody looked."""


_PORTS = "/sys/class/infiniband/*/ports/*/rate"
_LISTS = ("NCCL_FASTRAK_IFNAME", "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME")
"""Interfaces that Google's plugins use: https://github.com/GoogleCloudPlatform/container-engine-accelerators."""


def of_nccl(host: NcclHost, ethernet: _Rates, rdma: _Rates, uuids: Collection[str] | None = None) -> UsableNetwork:
    """What NCCL takes of a host's network, by its settings there, and the rates of those links.

    `uuids`: of the GPUs that have ranks; None = not known: all of the host.
    """
    published, gpus = published_networks.of_host(host.facts), _places(host, uuids)
    try:
        if host.network_kind == "Socket":
            return _for_sockets(host, ethernet)
        ports = _ports(host, rdma)
        if not ports and published and host.network_kind == "plugin":
            return _of_a_plugin(host, ethernet, published, gpus)
        if not ports:
            return UsableNetwork(text="no RDMA port that NCCL may use is active")
        ports, source = _as_published(host, ports, published)
        ports = _searched(host, ports, gpus)
    except NotKnown as why:
        return UsableNetwork(text=str(why))
    layers = {port.link_layer for port in ports}  # EFA is not told apart here: its plugin decides
    verbs = {"InfiniBand": "ib", "Ethernet": "roce"}.get(layers.pop()) if len(layers) == 1 else None
    return _together(ports, source, verbs)


def _ports(host: NcclHost, rdma: _Rates) -> list[LinkRate]:
    """The ports that NCCL's own network takes; a plugin may take others too, such as those of EFA."""
    ports = known(rdma)
    if host.network_kind == "IB":
        names = {port.name for port in host.active_ports}
        return [port for port in ports if port.name in names]
    wanted = host.settings.names("NCCL_IB_HCA")
    up = [port for port in ports if port.up is not False]
    return [port for port in up if wanted is None or port.link_layer not in _OF_VERBS or _chosen(wanted, port)]


_OF_VERBS = ("InfiniBand", "Ethernet")
"""Link layers of ports that the list is for: the plugin of EFA does not read it."""


def _places(host: NcclHost, uuids: Collection[str] | None) -> frozenset[str] | None:
    """The PCI addresses of GPUs; None = not all of them are known."""
    if uuids is None:
        return None
    wanted = {uuid.removeprefix("GPU-") for uuid in uuids}
    there = or_none(host.facts.nvidia.gpus) or ()
    found = {gpu.pci for gpu in there if (or_none(gpu.uuid) or "").removeprefix("GPU-") in wanted}
    return frozenset(found) if len(found) == len(wanted) else None


def _as_published(
    host: NcclHost, ports: list[LinkRate], published: PublishedNetwork | None
) -> tuple[list[LinkRate], str]:
    """(ports with the rates that count, what says so)."""
    devices = {device.name: device for device in or_none(host.facts.rdma.devices) or ()}
    mine = [port for port in ports if published and _device(devices, port).driver == published.driver]
    if published is None or not mine:
        return ports, _PORTS
    said = Counter(_gigabits(port) for port in mine if not isinstance(port.bytes_per_s, Unknown))
    each = published.bytes_per_s
    lower = [replace(port, bytes_per_s=min(each, or_none(port.bytes_per_s) or each)) for port in mine]
    meant = [port for port in lower if port.bytes_per_s == each]
    used = meant if len(meant) == published.devices else lower
    words = [published.text]
    if any(or_none(port.bytes_per_s) not in (None, each) for port in mine):
        words.append(f"the ports report {', '.join(f'{count} x {kind}' for kind, count in said.items())}")
    others = [port for port in ports if port not in mine]
    return [*used, *([] if used is meant else others)], "; ".join(words)


def _device(devices: dict[str, RdmaDevice], port: LinkRate) -> RdmaDevice:
    name = port.name.partition(":")[0]
    return devices.get(name) or RdmaDevice(name=name)


def _searched(host: NcclHost, ports: list[LinkRate], gpus: frozenset[str] | None) -> list[LinkRate]:
    """Those that NCCL's search gives to channels. Raises NotKnown."""
    if any(isinstance(port.bytes_per_s, Unknown) for port in ports):
        return ports  # which has a reason of its own
    devices = {device.name: device for device in or_none(host.facts.rdma.devices) or ()}
    nics = [
        Nic(
            name=port.name,
            layer=port.link_layer,
            bytes_per_s=known(port.bytes_per_s),
            pci=or_none(_device(devices, port).pci),
        )
        for port in ports
    ]
    wanted = host.settings.names("NCCL_IB_HCA")
    told = wanted is not None and not wanted.exclude
    names = {nic.name for nic in nic_search.used(nics, host.facts.pci, None if told else gpus)}
    return [port for port in ports if port.name in names]


def _of_a_plugin(
    host: NcclHost, ethernet: _Rates, published: PublishedNetwork, gpus: frozenset[str] | None
) -> UsableNetwork:
    """The interfaces that a plugin uses instead of RDMA, on a machine that is known to have them."""
    there = {one.name: one for one in published_networks.interfaces_of(host.facts, published.driver)}
    asked = tuple(values.split(next((text for name in _LISTS if (text := host.get(name))), "")))
    up = {nic.name for nic in or_none(ethernet) or () if nic.up is not False}
    if missing := set(asked) - up:
        return UsableNetwork(text=f"not up: {', '.join(sorted(missing))}; {published.text}")
    nics = [
        Nic(name=name, layer="Ethernet", bytes_per_s=published.bytes_per_s, pci=or_none(there[name].pci))
        for name in dict.fromkeys(asked or there)
        if name in there
    ]
    count = len(nic_search.used(nics, host.facts.pci, gpus))
    if not asked and count == len(there):
        count -= 1  # one is the host's own, and which one cannot be told
    if not 0 < count <= published.devices:
        return UsableNetwork(text=f"unknown which interfaces are for GPUs; {published.text}")
    devices = f"{count} x {published.gbps:g} Gb/s"
    rate = count * published.bytes_per_s
    return UsableNetwork(bytes_per_s=rate, text=f"{devices} ({published.text})", devices=devices)


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
        why = f"Gloo alternates between {name}"
    elif name:
        absent = f"Gloo uses {name}, which is not in /sys/class/net"
        why = ethernet.reason if isinstance(ethernet, Unknown) else absent
    return UsableNetwork(text=why, transport="socket")


def _for_sockets(host: NcclHost, ethernet: _Rates) -> UsableNetwork:
    """The fastest interfaces that NCCL chooses, at the same time; slower ones get no channels (nic_search.py). Of
    those that nobody named, the ones with hardware."""
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
        return UsableNetwork(text="no physical interface is up", transport="socket")
    fastest = max((or_none(nic.bytes_per_s) or 0.0 for nic in nics), default=0.0)
    all_known = not any(isinstance(nic.bytes_per_s, Unknown) for nic in nics)
    used = [nic for nic in nics if nic.bytes_per_s == fastest] if all_known else nics
    return _together(used, "/sys/class/net/*/speed", "socket")


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
    less = f", in slower slots: {kinds}" if lost else ""
    text = f"{text} ({source}{less})"
    return UsableNetwork(bytes_per_s=rate, text=text, transport=transport, devices=devices)


def _gigabits(nic: LinkRate) -> str:
    rate = f"{known(nic.bytes_per_s) * 8 / 1e9:g} Gb/s"
    return f"{rate} {nic.link_layer}" if nic.link_layer in ("InfiniBand", "Ethernet") else rate
