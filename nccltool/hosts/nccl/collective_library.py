"""Which library carries the collectives of a host: NCCL, or RCCL on GPUs of AMD. Pure.

The strongest evidence decides: the build of torch, then drivers and libraries, then variables. Where one
kind of evidence names both libraries or none, the next is asked.
"""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.hosts.nccl.settings import NcclSettings

CollectiveLibrary: TypeAlias = Literal["NCCL", "RCCL"]
PARTS = ("versions", "amd", "nvidia")
"""Of the facts that are looked at."""
UNKNOWN = Unknown("NCCL or RCCL: neither torch, drivers, nor variables tell")
_OF_ROCM = ("RCCL_", "HSA_", "ROCR_", "HIP_", "MIOPEN_", "HIPBLASLT_")
_OF_CUDA = ("NVIDIA_", "CUDA_MODULE_", "CUDA_CACHE_", "CUDA_MPS_", "NVSHMEM_")
"""CUDA_VISIBLE_DEVICES and CUDA_DEVICE_MAX_CONNECTIONS are set on AMD's GPUs too."""
_PATHS = ("LD_LIBRARY_PATH", "LD_PRELOAD", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN")


def of(settings: NcclSettings, facts: HostFacts) -> CollectiveLibrary | Unknown:
    """The library, or why it is not known."""
    asked: Iterable[Callable[[], tuple[bool, bool]]] = (
        lambda: _of_torch(facts),
        lambda: _of_drivers(facts),
        lambda: _of_variables(settings),
    )
    for evidence in asked:
        is_nccl, is_rccl = evidence()
        if is_nccl != is_rccl:
            return "NCCL" if is_nccl else "RCCL"
    return UNKNOWN


def _of_torch(facts: HostFacts) -> tuple[bool, bool]:
    return bool(or_none(facts.versions.torch_cuda)), bool(or_none(facts.versions.torch_hip))


def _of_drivers(facts: HostFacts) -> tuple[bool, bool]:
    """A driver, the GPUs it gives, or the library itself."""
    nvidia = (facts.nvidia.driver, facts.nvidia.gpus, facts.versions.libnccl)
    amd = (facts.amd.driver, facts.amd.gpus, facts.versions.rccl)
    return any(map(or_none, nvidia)), any(map(or_none, amd))


def _of_variables(settings: NcclSettings) -> tuple[bool, bool]:
    if settings.unread:
        return False, False
    paths = "\n".join(settings.get(name) or "" for name in _PATHS)
    is_rccl = any(settings.beginning(*_OF_ROCM)) or "rocm" in paths or "rccl" in paths
    return any(settings.beginning(*_OF_CUDA)), is_rccl
