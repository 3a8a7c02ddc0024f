"""Which of several NICs NCCL's search of the topology gives to channels: pure.

After ncclTopoCompute, ncclTopoSelectNets and ncclTopoSearchRecNet (src/graph/search.cc of NCCL 2.27): speeds of
channels are tried from high to low, and a NIC that is slower is passed over. At each speed the NICs nearest to
GPUs come first; others are added only as far as the widest path that is allowed, and this stays below processors
as long as there is a solution. NICs of two link layers are not merged into one (src/transport/net_ib/init.cc).

So where each GPU has a fast NIC below a switch of its own, the others carry nothing: those of storage, which are
slower, or as far away as the processor. In all other mixtures the bandwidth of paths decides: that is not known.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from nccltool.core.text import listed
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import NotKnown, Pci, PciDevice, known


@dataclass(frozen=True, kw_only=True, slots=True)
class Nic:
    """A port that NCCL could use."""

    name: str
    layer: str
    bytes_per_s: float
    pci: str | None
    """Its PCI address; None = not known."""


def used(nics: Sequence[Nic], pci: Pci, gpus: Collection[str] | None = None) -> tuple[Nic, ...]:
    """Those that carry something. Raises NotKnown where this cannot be told.

    `gpus`: the PCI addresses of those that have ranks; None = all of the host.
    """
    kinds = {(nic.layer, nic.bytes_per_s) for nic in nics}
    beside = _beside_gpus(nics, pci, gpus)
    if beside is None:
        if len(kinds) > 1:
            raise NotKnown(f"{_mixture(nics)}, and which of them are close to GPUs is unknown; {_REMEDY}")
        return tuple(nics)
    near = [nic for nic in nics if any(nic.name in names for names in beside)]
    fastest = max((nic.bytes_per_s for nic in near), default=0.0)
    chosen = [nic for nic in near if nic.bytes_per_s == fastest]
    all_have = all(any(nic.name in names for nic in chosen) for names in beside)
    is_fast = all(nic.bytes_per_s <= fastest for nic in nics)
    if all_have and is_fast and len({nic.layer for nic in chosen}) == 1:
        return tuple(chosen)
    if len(kinds) > 1:
        raise NotKnown(f"{_mixture(nics)}, and some GPUs are not close to any of the fastest; {_REMEDY}")
    if gpus is not None and len(beside) < len(_gpus(pci)):
        raise NotKnown(f"not every GPU that NCCL uses has a port close to it; {_REMEDY}")
    return tuple(nics)


_REMEDY = "set NCCL_IB_HCA to the right ports"


def _mixture(nics: Iterable[Nic]) -> str:
    kinds = dict.fromkeys(f"{nic.bytes_per_s * 8 / 1e9:g} Gb/s {nic.layer}" for nic in nics)
    return f"ports differ ({listed(kinds)})"


def _beside_gpus(nics: Sequence[Nic], pci: Pci, used: Collection[str] | None) -> list[set[str]] | None:
    """Of each GPU, the NICs that share a PCI bridge with it; None = not known."""
    if isinstance(pci.devices, Unknown) or any(nic.pci is None for nic in nics):
        return None
    places = {device.address: device for device in pci.devices}
    gpus = [gpu for gpu in _gpus(pci) if used is None or gpu.address in used]
    if not gpus or (used is not None and len(gpus) < len(used)):
        return None
    return [{nic.name for nic in nics if _share_a_bridge(gpu, places, nic)} for gpu in gpus]


def _gpus(pci: Pci) -> list[PciDevice]:
    return [place for place in known(pci.devices) if place.is_gpu]


def _share_a_bridge(gpu: PciDevice, places: Mapping[str, PciDevice], nic: Nic) -> bool:
    place = places.get(nic.pci or "")
    if place is None:
        return False
    pairs = zip(gpu.upstream, place.upstream, strict=False)
    return any(True for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
