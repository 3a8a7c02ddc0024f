"""What bytes can take from rank to rank, and how fast: a host's network as the backend uses it, a GPU's NVLink.

A rate is each way, without what protocols add; where it cannot be told there is a reason instead.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.hosts.sources.nic import Devices, Nic, PcieSlot
from nccltool.launch.rank_facts import RankFacts

_NVLINK_TABLE = "https://github.com/stas00/ml-engineering/blob/0030e63f5275afee38233676690ce10478647cca/network/README.md#nvlink"


@dataclass(frozen=True, kw_only=True, slots=True)
class NvLinkSpec:
    """The NVLink of a GPU model."""

    names: str
    """A pattern of the names that CUDA gives; the PCIe and MIG forms of a chip are not in it."""
    generation: int
    bytes_per_s: float
    """Of all links of a GPU together, each way."""
    between_hosts: bool = False
    """There are systems in which it connects GPUs of several hosts."""
    source: str = _NVLINK_TABLE


NVLINKS = (
    NvLinkSpec(names=r"Tesla V100-SXM[23]-\d+GB(-LS)?", generation=2, bytes_per_s=150e9),
    NvLinkSpec(names=r"(NVIDIA )?A100-SXM4?-\d+GB", generation=3, bytes_per_s=300e9),
    NvLinkSpec(names=r"NVIDIA H100 \d+GB HBM\w+", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA H200", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA GH200 \w+( HBM\w+)?", generation=4, bytes_per_s=450e9, between_hosts=True),
    NvLinkSpec(names=r"NVIDIA B[23]00( SXM6 AC)?", generation=5, bytes_per_s=900e9),
    NvLinkSpec(names=r"NVIDIA GB[23]00", generation=5, bytes_per_s=900e9, between_hosts=True),
)
"""The source gives the payload rate of each generation and which chips have it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsableNetwork:
    """The network of one host, as far as the backend can use it."""

    bytes_per_s: float | None
    """Each way; None = not known."""
    text: str
    """What it consists of and the file that says so; or why it is not known."""
    transport: str | None = None
    """socket, ib or roce; None = not known."""
    devices: str | None = None
    """The devices and their rates without their names, the same on hosts that are alike; None = not known."""


def nvlink(gpu_name: str | None) -> NvLinkSpec | None:
    """The NVLink of a GPU model; None = it has none, or is not in the table."""
    return next((link for link in NVLINKS if re.fullmatch(link.names, gpu_name or "")), None)


def network(backend: str, env: Mapping[str, str], ethernet: Devices, rdma: Devices) -> UsableNetwork:
    """What `backend` can use of a host's network devices."""
    if backend == "gloo":
        return replace(_for_gloo(env.get("GLOO_SOCKET_IFNAME", ""), ethernet), transport="socket")
    if env.get("NCCL_IB_DISABLE", "0") != "1" and env.get("NCCL_NET", "").lower() != "socket":
        if rdma.nics is None:
            return UsableNetwork(bytes_per_s=None, text=rdma.reason or "")
        ports = [nic for nic in rdma.nics if nic.up is not False and _chosen(nic, env.get("NCCL_IB_HCA", ""))]
        if ports:
            wire = _together(ports, "/sys/class/infiniband/*/ports/*/rate")
            return replace(wire, transport=_verbs({port.link_layer for port in ports}))
    return replace(_for_sockets(env.get("NCCL_SOCKET_IFNAME", ""), ethernet), transport="socket")


def _verbs(layers: set[str]) -> str | None:
    """EFA and mixtures are not told apart from here: plugins decide what becomes of them."""
    return {"InfiniBand": "ib", "Ethernet": "roce"}.get(layers.pop()) if len(layers) == 1 else None


def transport(
    backend: str, ranks: Sequence[RankFacts], wires: Mapping[str, UsableNetwork]
) -> tuple[str | None, str | None]:
    """(what carries the bytes between these ranks, the network devices of each host); None = not known."""
    hosts = {facts.host_id for facts in ranks}
    if len({facts.node_rank for facts in ranks}) > len(hosts):
        return "emulated", ""
    links = [nvlink(facts.gpu_name) for facts in ranks] if backend == "nccl" else []
    if len(hosts) == 1:
        return "nvlink" if links and all(links) else "local" if backend == "gloo" else None, ""
    found = [wires.get(host) for host in hosts]
    kinds = {wire.transport if wire else None for wire in found}
    devices = {wire.devices if wire else None for wire in found}
    if any(link and link.between_hosts for link in links):
        kinds = {None}  # NVLink may connect the hosts
    nics = None if None in devices else "; ".join(sorted(text for text in devices if text))
    return kinds.pop() if len(kinds) == 1 else None, nics


def _for_gloo(name: str, ethernet: Devices) -> UsableNetwork:
    if not name:
        return UsableNetwork(bytes_per_s=None, text="Gloo chose its interface itself")
    if "," in name:
        return UsableNetwork(bytes_per_s=None, text=f"Gloo takes turns between {name}")
    if ethernet.nics is None:
        return UsableNetwork(bytes_per_s=None, text=ethernet.reason or "")
    nic = next((nic for nic in ethernet.nics if nic.name == name), None)
    if nic is None:
        return UsableNetwork(bytes_per_s=None, text=f"Gloo uses {name}, which is not in /sys/class/net")
    return _together([nic], nic.source)


def _for_sockets(wanted: str, ethernet: Devices) -> UsableNetwork:
    """NCCL without RDMA takes the interfaces that it is told to, or all; their wires are those with hardware."""
    if ethernet.nics is None:
        return UsableNetwork(bytes_per_s=None, text=ethernet.reason or "")
    told = bool(wanted) and not wanted.startswith("^")
    nics = [nic for nic in ethernet.nics if nic.up is not False and (told or not nic.virtual)]
    nics = [nic for nic in nics if _chosen(nic, wanted)]
    if not nics:
        return UsableNetwork(bytes_per_s=None, text="no interface with hardware behind it is up")
    return _together(nics, "/sys/class/net/*/speed")


def _chosen(nic: Nic, words: str) -> bool:
    """NCCL's lists of devices: prefixes, or whole names after =; ^ turns the list around; name:port."""
    if not words:
        return True
    others = words.startswith("^")
    exact = words.removeprefix("^").startswith("=")
    device, _, port = nic.name.partition(":")
    for word in words.removeprefix("^").removeprefix("=").split(","):
        name, _, wanted_port = word.strip().partition(":")
        fits = device == name if exact else device.startswith(name)
        if fits and (not port or not wanted_port or port == wanted_port):
            return not others
    return others


def _together(nics: Sequence[Nic], source: str) -> UsableNetwork:
    """Links that are used at the same time."""
    unknown = next((nic for nic in nics if nic.bytes_per_s is None), None)
    if unknown is not None:
        return UsableNetwork(bytes_per_s=None, text=f"{unknown.name}: {unknown.reason} ({unknown.source})")
    groups = Counter(_gigabits(nic) for nic in nics)
    devices = ", ".join(f"{count} x {kind}" for kind, count in groups.items())
    text = f"{nics[0].name} {_gigabits(nics[0])}" if len(nics) == 1 else devices
    lost = {slot: rate - slot.bytes_per_s for slot, rate in _slots(nics).items() if rate > slot.bytes_per_s}
    rate = sum(nic.bytes_per_s or 0.0 for nic in nics) - sum(lost.values())
    kinds = ", ".join(f"{count} x PCIe {kind}" for kind, count in Counter(slot.text for slot in lost).items())
    less = f", in slots that allow less: {kinds}" if lost else ""
    return UsableNetwork(bytes_per_s=rate, text=f"{text} ({source}{less})", devices=devices)


def _slots(nics: Sequence[Nic]) -> dict[PcieSlot, float]:
    """What the links of each slot that is known could do together."""
    rates: dict[PcieSlot, float] = defaultdict(float)
    for nic in nics:
        if nic.slot is not None:
            rates[nic.slot] += nic.bytes_per_s or 0.0
    return rates


def _gigabits(nic: Nic) -> str:
    rate = f"{(nic.bytes_per_s or 0.0) * 8 / 1e9:g} Gb/s"
    return f"{rate} {nic.link_layer}" if nic.link_layer in ("InfiniBand", "Ethernet") else rate
