"""GPU models with NVLink or Infinity Fabric: its rate each way, without what protocols add. How far it reaches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core.versions import Version
from nccltool.hosts.facts import Gpu, NotKnown, Nvidia, known
from nccltool.hosts.nccl.settings import NcclSettings

_NVLINK_TABLE = "https://github.com/stas00/ml-engineering/blob/0030e63f5275afee38233676690ce10478647cca/network/README.md#nvlink"


_AMD = "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs"
_MI300X_SHEET = f"{_AMD}/data-sheets/amd-instinct-mi300x-data-sheet.pdf"
_MI325X_SHEET = f"{_AMD}/product-briefs/instinct-mi325x-datasheet.pdf"
_CDNA4_PAPER = f"{_AMD}/white-papers/amd-cdna-4-architecture-whitepaper.pdf"


@dataclass(frozen=True, kw_only=True, slots=True)
class NvLinkSpec:
    """The NVLink, or what stands for it, of a GPU model."""

    names: str
    """A pattern of the names that CUDA gives; the PCIe and MIG forms of a chip are not in it."""
    generation: int
    bytes_per_s: float
    """Of all links of a GPU together, each way."""
    between_hosts: bool = False
    """There are systems in which it connects GPUs of several hosts."""
    kind: str = "NVLink"
    peers: int | None = None
    """Without a switch: of so many other GPUs, each has a link of its own. None = any GPU takes all links."""
    source: str = _NVLINK_TABLE

    def rate_to(self, others: int) -> float:
        """What a GPU can send to so many others together."""
        return self.bytes_per_s if self.peers is None else self.bytes_per_s * min(others, self.peers) / self.peers


def _infinity_fabric(names: str, each: float, source: str) -> NvLinkSpec:
    """Of a server of eight: seven links at this rate, one to each other GPU. Clouds give it as a VF."""
    return NvLinkSpec(
        names=rf"{names}( OAM| VF| HF)*",
        generation=4,
        bytes_per_s=7 * each,
        kind="Infinity Fabric",
        peers=7,
        source=source,
    )


NVLINKS = (
    NvLinkSpec(names=r"Tesla V100-SXM[23]-\d+GB(-LS)?", generation=2, bytes_per_s=150e9),
    NvLinkSpec(names=r"(NVIDIA )?A100-SXM4?-\d+GB", generation=3, bytes_per_s=300e9),
    NvLinkSpec(names=r"NVIDIA H100 \d+GB HBM\w+", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA H200", generation=4, bytes_per_s=450e9),
    NvLinkSpec(names=r"NVIDIA GH200 \w+( HBM\w+)?", generation=4, bytes_per_s=450e9, between_hosts=True),
    NvLinkSpec(names=r"NVIDIA B[23]00( SXM6 AC)?", generation=5, bytes_per_s=900e9),
    NvLinkSpec(names=r"NVIDIA GB[23]00", generation=5, bytes_per_s=900e9, between_hosts=True),
    _infinity_fabric(r"AMD Instinct MI300X", each=64e9, source=_MI300X_SHEET),
    _infinity_fabric(r"AMD Instinct MI325X", each=64e9, source=_MI325X_SHEET),
    _infinity_fabric(r"AMD Instinct MI35[05]X", each=76.8e9, source=_CDNA4_PAPER),
)
"""The source of NVLink gives the payload rate of each generation and which chips have it. AMD gives the rate of
both directions of a link together, 128 and 153.6 GB/s."""


def nvlink(gpu_name: str | None) -> NvLinkSpec | None:
    """The NVLink of a GPU model; None = it has none, or is not in the table."""
    return next((link for link in NVLINKS if re.fullmatch(link.names, gpu_name or "")), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class NvLinkDomain:
    """GPUs that NVLink connects, on one host or on several."""

    name: str | None
    """The same on all of its hosts; '' = it ends at this host; None = not known."""
    text: str
    """What says so, or why it is not known."""


_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


def domain(nvidia: Nvidia, settings: NcclSettings) -> NvLinkDomain:
    """How far NCCL takes NVLink of this host.

    As ncclMnnvlCheck and ncclTopoCheckMNNVL have it (src/mnnvl.cc, src/graph/paths.cc): every GPU's fabric must be
    ready, ranks of the same cluster and clique are one domain, and memory is shared through an IMEX channel.
    """
    try:
        if off := _switched_off(settings):
            return NvLinkDomain(name="", text=f"{off}: NCCL does not use NVLink between hosts")
        known(nvidia.nvml)  # or why nobody knows of its fabric
        return _domain(known(nvidia.gpus), known(nvidia.imex_channels), settings)
    except NotKnown as why:
        return NvLinkDomain(name=None, text=str(why))


_SINCE = Version(2, 21, 5)
"""The release from which NCCL uses NVLink between hosts without being asked."""


def _switched_off(settings: NcclSettings) -> str:
    """What keeps NCCL from NVLink between hosts; '' = nothing."""
    if settings.version is not None and settings.version < _SINCE:
        return f"NCCL {settings.version}"
    switches = {"NCCL_MNNVL_ENABLE": 0, "NCCL_CUMEM_ENABLE": 0, "NCCL_P2P_DISABLE": 1}
    return next((f"{name}={off}" for name, off in switches.items() if settings.integer(name) == off), "")


def _domain(gpus: Sequence[Gpu], channels: Sequence[str], settings: NcclSettings) -> NvLinkDomain:
    for variable in ("NCCL_MNNVL_UUID", "NCCL_MNNVL_CLIQUE_ID", "NCCL_MNNVL_CROSS_CLIQUE"):
        if settings.get(variable) not in (None, "", "-1", "0"):
            raise NotKnown(f"{variable} is set and overrides the NVLink domain")
    if not gpus:
        raise NotKnown("the driver reports no GPU")
    places = {(known(gpu.cluster_uuid), known(gpu.clique_id)) for gpu in gpus}
    states = sorted({known(gpu.fabric_state) for gpu in gpus})
    if states == ["completed"] and {known(gpu.fabric_status) for gpu in gpus} != {"success"}:
        raise NotKnown(f"a GPU's NVLink fabric reports {known(gpus[0].fabric_status)}")
    if states != ["completed"] or any(uuid == _NO_CLUSTER for uuid, _ in places):
        which = "not in a cluster" if states == ["completed"] else ", ".join(states)
        return NvLinkDomain(name="", text=f"NVLink fabric {which}: limited to the host")
    if len(places) > 1:
        raise NotKnown("GPUs are in several NVLink cliques")
    uuid, clique = places.pop()
    if not channels:
        raise NotKnown("no usable IMEX channel, which NVLink between hosts needs")
    return NvLinkDomain(name=f"{uuid}/{clique}", text=f"NVLink cluster {uuid}, clique {clique}")
