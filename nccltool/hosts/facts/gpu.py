"""The NVIDIA driver of a host, its GPUs and their NVLinks."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Limit, Number, Setting, Text, Texts


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
    """In sysfs notation, e.g. `0000:18:00.0`."""
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
    """That a rank started here would see: /dev/nvidiaN and CUDA_VISIBLE_DEVICES."""
    memory_peers: Texts = NOT_READ
    """/sys/kernel/mm/memory_peers: `nv_mem`, `nv_mem_nc`; () = none is registered."""
    imex_channels: Texts = NOT_READ
    """/dev/nvidia-caps-imex-channels/channel* that can be read and written."""
    source: str = ""
    """`nvml` or `/proc/driver/nvidia`."""
    nvml: Text = NOT_READ
    """Version of NVML's library; Unknown says why NVML could not be asked."""
