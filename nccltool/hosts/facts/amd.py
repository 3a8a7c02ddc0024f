"""GPUs of AMD, and the links between them."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Text


class AmdGpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A GPU, or a partition of one. Source: /sys/class/kfd, /sys/class/drm."""

    pci: str
    """In sysfs notation, e.g. `0000:05:00.0`; partitions of a GPU share it."""
    render_minor: Count = NOT_READ
    """N of /dev/dri/renderN."""
    unique_id: Text = NOT_READ
    """As the runtime writes it: `GPU-` and 16 digits."""
    name: Text = NOT_READ
    """e.g. `AMD Instinct MI300X OAM`. Source: product_name."""
    gfx: Text = NOT_READ
    """Its architecture, e.g. `gfx942`."""
    memory_bytes: Count = NOT_READ
    """Source: mem_info_vram_total."""
    vbios: Text = NOT_READ
    numa_node: Count = NOT_READ
    xgmi_peers: Count = NOT_READ
    """GPUs that it reaches over Infinity Fabric. Source: io_links."""
    compute_partition: Text = NOT_READ
    """`SPX`, `DPX`, `CPX`, ...; '' = it has no such modes."""
    memory_partition: Text = NOT_READ
    """`NPS1`, `NPS4`, ...; '' = it has no such modes."""


class Amd(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The driver amdgpu and the GPUs that it gives to compute."""

    driver: Text = NOT_READ
    """Its version, e.g. `6.12.12`; '' = it is not loaded."""
    gpus: tuple[AmdGpu, ...] | Unknown = NOT_READ
    """In the order of the runtime, without masks and without what a processor has built in."""
    visible_gpus: Count = NOT_READ
    """That a rank started here would see: /dev/dri and ROCR_, HIP_ and CUDA_VISIBLE_DEVICES."""
