"""The PCI devices of a host and its IOMMU."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Limit, Number, Text, Texts


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
