"""Workarounds left behind in the settings of libraries alongside NCCL, and what they cost."""

import re
from collections.abc import Mapping

from nccltool.core.text import shortened
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text

_NO = r"(?i)0|n|no|off|false"
_YES = r"(?i)1|y|yes|on|true"
_LEFT: Mapping[str, tuple[str, str]] = {
    "UCX_IB_GPU_DIRECT_RDMA": (_NO, "UCX copies GPU memory through the host instead of using GPUDirect RDMA"),
    "UCX_CUDA_IPC_CACHE": (_NO, "UCX maps the memory of another GPU again for every message"),
    "UCX_RNDV_THRESH": (r"(?i)inf", "UCX copies large messages in pieces instead of by RDMA"),
    "UCX_ZCOPY_THRESH": (r"(?i)inf", "UCX copies every message into a buffer first"),
    "FI_MR_CACHE_MAX_COUNT": (r"0", "libfabric registers memory again for every message"),
    "FI_MR_CACHE_MAX_SIZE": (r"0", "libfabric registers memory again for every message"),
    "FI_CXI_DISABLE_HOST_REGISTER": (_NO, "libfabric calls cudaHostRegister while NCCL runs, which may deadlock"),
    "FI_CXI_FORCE_ODP": (_YES, "the adapter faults pages in on demand"),
    "HSA_ENABLE_SDMA": (_NO, "copies take compute units instead of the copy engines of the GPU"),
    "HSA_ENABLE_PEER_SDMA": (_NO, "copies between GPUs take compute units instead of the copy engines"),
    "HSA_DISABLE_CACHE": (_YES, "the GPU's L2 cache is off"),
    "NVSHMEM_DISABLE_CUDA_VMM": (_YES, "the symmetric heap cannot grow, and NVLink between nodes is off"),
    "OMPI_MCA_opal_cuda_support": (_NO, "Open MPI reads a pointer to GPU memory as one to host memory"),
    "OMPI_MCA_mpi_yield_when_idle": (_YES, "MPI gives up the processor while it waits: latencies rise"),
    "MV2_USE_CUDA": (_NO, "MVAPICH2 reads a pointer to GPU memory as one to host memory"),
    "OFI_NCCL_MR_CACHE_DISABLE": (_YES, "the plugin registers memory again for every message"),
    "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK": (_YES, "a host without GPUDirect RDMA joins the job and slows it down"),
    "MC_FORCE_TCP": (_YES, "Mooncake uses TCP, regardless of what the adapters support"),
    "I_MPI_OFI_PROVIDER": (r"(?i)tcp|sockets", "Intel MPI uses TCP, whatever the adapters support"),
}
"""A pattern of the whole value, and its effect."""


@for_text("PLG026", "warning", *_LEFT, covers=())
def workaround_left_behind(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A fast path of a library alongside NCCL is disabled, as users do to work around a defect.

    Why: Such a setting helps with one release on one machine, and is copied to others with the rest. There it only
    costs bandwidth, or hides that GPUDirect or a copy engine does not work.
    Example: UCX_IB_GPU_DIRECT_RDMA=n
    Instead: unset UCX_IB_GPU_DIRECT_RDMA, and set it again only if a job fails
    Source: UCX, libfabric, ROCm, NVSHMEM, Open MPI, MVAPICH2, and aws-ofi-nccl documentation of each variable
    """
    pattern, effect = _LEFT[variable.name]
    if variable.name == "NVSHMEM_DISABLE_CUDA_VMM" and host.get("NVSHMEM_REMOTE_TRANSPORT") == "libfabric":
        return  # this transport needs it
    if re.fullmatch(pattern, text.strip()):
        yield report.better_unset(variable, f"{effect} ({escaped(shortened(text.strip(), 20))})")
