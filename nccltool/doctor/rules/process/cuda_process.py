"""CUDA settings of a process: shares of a GPU, debugging left on, and a libcuda that the GPU does not support."""

import re
from collections.abc import Mapping

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text
from nccltool.hosts.facts import or_none

_LEFT: Mapping[str, str] = {
    "CUDA_FORCE_PTX_JIT": "every kernel is compiled from PTX when the process starts",
    "CUDA_CACHE_DISABLE": "kernels that are compiled at the start are compiled again in each process",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION": "after an error the GPU waits for a debugger: all ranks hang",
}
_NO_COMPAT = re.compile(r"GeForce|TITAN|NVIDIA RTX [2-9]0[5-9]0|GTX", re.IGNORECASE)
"""GPUs for which NVIDIA's driver refuses the libcuda of another release."""


@for_text("CUD016", "warning", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", covers=())
def share_of_a_gpu(_: JudgedHost, variable: Variable, text: str) -> Results:
    """CUDA_MPS_ACTIVE_THREAD_PERCENTAGE gives a rank only a part of its GPU.

    Why: NCCL's kernels and those that compute share the few multiprocessors that are left. Both are slower, and a
    kernel of NCCL that waits for its peers blocks the others.
    Example: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25
    Instead: unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
    Source: NVIDIA Multi-Process Service documentation, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
    """
    share = re.fullmatch(r"\s*(\d{1,3}(?:\.\d+)?)\s*", text, re.ASCII)
    if share and 0 < float(share[1]) < 100:
        yield report.better_unset(variable, f"the rank may use {share[1]} % of its GPU")


@for_text("CUD020", "warning", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION", covers=())
def memory_fraction_out_of_range(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The share of GPU memory that JAX takes is not between 0 and 1.

    Why: It is a fraction, not a percentage. Above 1, JAX takes all memory, and NCCL cannot allocate its buffers.
    With TF_FORCE_UNIFIED_MEMORY=1, values above 1 are valid: JAX then also uses host memory.
    Example: XLA_PYTHON_CLIENT_MEM_FRACTION=90
    Instead: XLA_PYTHON_CLIENT_MEM_FRACTION=.90
    Source: JAX documentation, GPU memory allocation; https://github.com/jax-ml/jax/issues/17426
    """
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    unified = (host.get("TF_FORCE_UNIFIED_MEMORY") or "").strip().lower() in ("1", "true")
    if not 0 < share <= 1 and not (share > 1 and unified):
        yield report.better_unset(variable, "JAX expects a fraction, such as .75")


@for_text("CUD017", "warning", *_LEFT, covers=())
def cuda_debugging_left_on(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A variable for testing or debugging CUDA is set.

    Why: CUDA compiles all kernels again in each process, or stops the GPU at an error until a debugger
    attaches. Startup takes minutes, or the other ranks hang. CUDA_CACHE_DISABLE is only a hint: sites set it where
    the cache is on a shared file system.
    Example: CUDA_DEVICE_WAITS_ON_EXCEPTION=1
    Instead: unset CUDA_DEVICE_WAITS_ON_EXCEPTION
    Source: CUDA programming guide, appendix of environment variables; cuda-gdb documentation;
    boeschf/nccl-benchmark-on-alps launch_wrapper, 1dcfe67b
    """
    if text.strip() == "1":
        severity: Severity | None = "info" if variable.name == "CUDA_CACHE_DISABLE" else None
        yield report.better_unset(variable, _LEFT[variable.name], severity=severity)


@for_text("CUD018", "error", "LD_LIBRARY_PATH", covers=(), needs=("nvidia",))
def compatibility_library_refused(host: JudgedHost, variable: Variable, text: str) -> Results:
    """LD_LIBRARY_PATH contains CUDA's forward-compatibility libcuda, and the GPUs do not support it.

    Why: Only GPUs for data centers support it. cuInit fails with error 804: "forward compatibility was attempted
    on non supported HW".
    Example: LD_LIBRARY_PATH=/usr/local/cuda/compat on a host with GeForce GPUs
    Instead: remove the folder from LD_LIBRARY_PATH
    Source: NVIDIA CUDA compatibility guide, forward compatibility
    """
    folder = next((one for one in text.split(":") if re.search(r"/compat(/lib)?/*$", one.strip())), None)
    gpus = or_none(host.facts.nvidia.gpus) or ()
    name = next((name for one in gpus if (name := or_none(one.name)) and _NO_COMPAT.search(name)), None)
    if folder and name:
        message = f"{escaped(name[:60])} does not support CUDA's forward compatibility"
        yield report.about(variable, message, f"remove {folder} from LD_LIBRARY_PATH", part=folder)
