"""The PCI devices of a host, its IOMMU, its GPUs and their NVLinks."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Limit, Number, Setting, Text, Texts

NETWORK, DISPLAY, ACCELERATOR = 0x02, 0x03, 0x12
"""Classes of devices: the first 8 bits of their code."""
_GPUS = ((DISPLAY, "0x10de"), (DISPLAY, "0x1002"), (ACCELERATOR, "0x1002"))


class PciDevice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A GPU, NIC, NVSwitch, accelerator or PCI bridge. Source: /sys/bus/pci/devices/<address>."""

    address: str
    """e.g. `0000:18:00.0`."""
    class_code: Count = NOT_READ
    """24 bits: 0x060400 a bridge, 0x030200 a GPU, 0x020000 an Ethernet and 0x020700 an InfiniBand controller."""
    vendor: Text = NOT_READ
    device: Text = NOT_READ
    driver: Text = NOT_READ
    numa_node: Count = NOT_READ
    local_cpus: Text = NOT_READ
    """local_cpulist, e.g. `0-47,96-143`."""
    link_gts: Number = NOT_READ
    """Current speed of a lane in GT/s. An idle GPU lowers it: compare max_link_gts."""
    link_width: Count = NOT_READ
    max_link_gts: Number = NOT_READ
    max_link_width: Count = NOT_READ
    upstream: tuple[str, ...] = ()
    """Bridges above it, from the root port down."""
    acs_control: Limit = NOT_READ
    """ACS control word of the extended capability 0x000D; bit 0 = source validation, bit 2 = P2P request redirect,
    bit 3 = P2P completion redirect. None = it has no ACS. Without root the kernel shows 64 bytes of the
    configuration space: Unknown."""
    ats_enabled: bool | Unknown | None = NOT_READ
    """Address translation service is on; None = it has none."""
    iommu_group: Text = NOT_READ
    """'' = in none: the IOMMU is off, or this is a guest without one."""
    virtual_function: Flag = NOT_READ
    hidden_config: Flag = NOT_READ
    """Its configuration space shows 64 bytes only (no root)."""

    @property
    def kind(self) -> int | None:
        """Its class, DISPLAY or NETWORK among others; None = it is not known."""
        return None if isinstance(self.class_code, Unknown) else self.class_code >> 16

    @property
    def is_gpu(self) -> bool:
        """A display controller of NVIDIA or AMD, or an accelerator of AMD, as each Instinct is."""
        return (self.kind, self.vendor) in _GPUS

    @property
    def is_bridge(self) -> bool:
        """A PCI-to-PCI bridge: a root port or a port of a switch."""
        return not isinstance(self.class_code, Unknown) and self.class_code >> 8 == 0x0604


class Pci(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The tree of PCI devices and the IOMMU."""

    devices: tuple[PciDevice, ...] | Unknown = NOT_READ
    iommu_groups: Count = NOT_READ
    """Entries of /sys/kernel/iommu_groups; 0 = no IOMMU translates."""
    iommus: Texts = NOT_READ
    """/sys/class/iommu, e.g. `dmar0`."""
    iommu_types: Texts = NOT_READ
    """Distinct iommu_groups/*/type of groups with a GPU or NIC: `identity` (passthrough), `DMA`, `DMA-FQ`."""


class NvLink(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A link of a GPU. Source: NVML."""

    number: int
    active: bool
    version: Count = NOT_READ
    remote: Text = NOT_READ
    """`gpu`, `switch`, `cpu` or `unknown`."""
    remote_pci: Text = NOT_READ


class Gpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A GPU of the driver. Source: NVML; without it /proc/driver/nvidia/gpus/<address>/information."""

    pci: str
    """In sysfs notation, e.g. `0000:18:00.0`; of one that is lost, its number in NVML."""
    minor: Count = NOT_READ
    """N of /dev/nvidiaN."""
    uuid: Text = NOT_READ
    name: Text = NOT_READ
    """e.g. `NVIDIA H200`."""
    compute_capability: Number = NOT_READ
    """9.0 for Hopper; 12.1 is greater than 12.0: the minor is one digit."""
    memory_bytes: Count = NOT_READ
    persistence: Flag = NOT_READ
    ecc: bool | Unknown | None = NOT_READ
    """Current mode; None = the GPU has none."""
    mig: bool | Unknown | None = NOT_READ
    compute_mode: Text = NOT_READ
    """`default`, `exclusive process`, `prohibited`."""
    vbios: Text = NOT_READ
    gsp_firmware: Text = NOT_READ
    row_remap_pending: bool | Unknown | None = NOT_READ
    uncorrected_ecc: Limit = NOT_READ
    """Volatile count; None = the GPU has none."""
    nvlinks: tuple[NvLink, ...] | Unknown = NOT_READ
    """() = it has none."""
    fabric_state: Text = NOT_READ
    """`not supported`, `not started`, `in progress`, `completed`."""
    fabric_status: Text = NOT_READ
    """`success`, or NVML's word for the failure."""
    cluster_uuid: Text = NOT_READ
    """Of the NVLink domain; all zero = none."""
    clique_id: Count = NOT_READ
    numa_node: Count = NOT_READ

    @property
    def is_lost(self) -> bool:
        """NVML counts it, and cannot say where it is: `pci` names it by its number there."""
        return ":" not in self.pci


class Nvidia(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The NVIDIA driver and its GPUs."""

    driver: Text = NOT_READ
    """e.g. `570.124.06`; '' = no NVIDIA driver is loaded."""
    flavour: Text = NOT_READ
    """`open` or `proprietary` kernel modules; '' = no driver."""
    cuda: Text = NOT_READ
    """Highest CUDA version of the driver, e.g. `12.8`. Source: NVML."""
    params: tuple[Setting, ...] | Unknown = NOT_READ
    """/proc/driver/nvidia/params, e.g. RegistryDwords, EnableStreamMemOPs, GrdmaPciTopoCheckOverride."""
    gpus: tuple[Gpu, ...] | Unknown = NOT_READ
    """In order of their PCI address; without CUDA_VISIBLE_DEVICES."""
    visible_gpus: Count = NOT_READ
    """Of NVIDIA that a rank started here would see: /dev/nvidiaN and CUDA_VISIBLE_DEVICES. In WSL2 NVML tells."""
    memory_peers: Texts = NOT_READ
    """/sys/kernel/mm/memory_peers: `nv_mem`, `nv_mem_nc`; () = none is registered."""
    imex_channels: Texts = NOT_READ
    """/dev/nvidia-caps-imex-channels/channel* that can be read and written."""
    source: str = ""
    """`nvml` or `/proc/driver/nvidia`."""
    nvml: Text = NOT_READ
    """Version of NVML's library; Unknown says why NVML could not be asked."""
