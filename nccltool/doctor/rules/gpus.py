"""The GPUs themselves: modes and faults that keep a job from starting, and drivers that are too old."""

from collections.abc import Sequence

from nccltool.core import versions
from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, listed, rule
from nccltool.hosts.facts import Gpu, or_none


def _named(gpus: Sequence[Gpu]) -> str:
    return listed((gpu.pci for gpu in gpus), 4)


@rule("NV016", "error", covers=(), needs=("nvidia",))
def compute_prohibited(host: JudgedHost) -> Results:
    """The compute mode of a GPU is `prohibited`.

    Why: No process can create a CUDA context on it: "all CUDA-capable devices are busy or unavailable".
    Example: nvidia-smi -q shows Compute Mode: Prohibited
    Instead: sudo nvidia-smi -c 0
    Source: nvidia-smi(1), compute mode
    """
    off = [gpu for gpu in host.gpus if gpu.compute_mode == "prohibited"]
    if off:
        message = f"CUDA may not use {counted(len(off), 'GPU')}: the compute mode is prohibited"
        yield report.device(f"GPU {off[0].pci}", message, "sudo nvidia-smi -c 0", evidence=(_named(off),))


@rule("NV017", "warning", covers=(), needs=("nvidia",))
def partitioned_gpus(host: JudgedHost) -> Results:
    """MIG is on in a job with several ranks.

    Why: A process sees one MIG instance at most, and instances cannot access each other's memory: NCCL finds the
    same GPU twice, or uses neither NVLink nor PCIe between them.
    Example: nvidia-smi -L shows MIG devices
    Instead: sudo nvidia-smi -mig 0
    Source: NVIDIA Multi-Instance GPU user guide, application considerations
    """
    on = [gpu for gpu in host.gpus if gpu.mig is True]
    if on and host.local_ranks != 1:
        message = f"MIG partitions {counted(len(on), 'GPU')}: ranks cannot use NVLink or direct access"
        yield report.device(f"GPU {on[0].pci}", message, "sudo nvidia-smi -mig 0", evidence=(_named(on),))


@rule("NV018", "warning", covers=(), needs=("nvidia",))
def memory_of_gpu_faulty(host: JudgedHost) -> Results:
    """A GPU has uncorrected memory errors, or rows whose replacement waits for a reset.

    Why: The next error ends the process that uses the memory, and the job with it. A reset replaces the rows.
    Example: nvidia-smi -q -d ROW_REMAPPER shows Pending: Yes
    Instead: drain the host, and reset the GPU: sudo nvidia-smi -r
    Source: NVIDIA GPU memory error management, row remapping
    """
    bad = [gpu for gpu in host.gpus if gpu.row_remap_pending is True or (or_none(gpu.uncorrected_ecc) or 0) > 0]
    if bad:
        pending = any(gpu.row_remap_pending is True for gpu in bad)
        what = "rows wait for a reset" if pending else "uncorrected memory errors"
        message = f"{what} on {counted(len(bad), 'GPU')}"
        remedy = "drain the host and reset the GPU: sudo nvidia-smi -r"
        yield report.device(f"GPU {bad[0].pci}", message, remedy, evidence=(_named(bad),))


@rule("NV019", "warning", covers=(), needs=("nvidia",))
def links_of_gpu_down(host: JudgedHost) -> Results:
    """A GPU has fewer active NVLinks than others of its host.

    Why: NCCL builds its rings and trees from the links that are active: all GPUs become as slow as this one, or
    the fabric is not usable at all.
    Example: nvidia-smi nvlink -s shows <inactive> links on one GPU
    Instead: reset the GPUs and restart nvidia-fabricmanager; replace the GPU if the links stay down
    Source: NVIDIA Fabric Manager user guide, NVLink errors
    """
    links = {gpu.pci: sum(link.active for link in known(gpu.nvlinks)) for gpu in host.gpus}
    most = max(links.values(), default=0)
    few = [gpu for gpu in host.gpus if links[gpu.pci] < most]
    alike = len({gpu.name for gpu in host.gpus}) == 1
    if few and alike and len(few) * 2 <= len(links):
        message = f"{counted(links[few[0].pci], 'NVLink')} of {most} active on GPU {few[0].pci}"
        remedy = "reset the GPUs and restart nvidia-fabricmanager"
        yield report.device(f"GPU {few[0].pci}", message, remedy, evidence=(_named(few),))


@rule("CUD015", "error", covers=(), needs=("nvidia", "versions"))
def driver_older_than_cuda(host: JudgedHost) -> Results:
    """The driver is older than the CUDA that torch was built for.

    Why: A driver supports programs of its own major release of CUDA and of older ones. CUDA fails with "driver
    version is insufficient" (35), unless the package cuda-compat is on the loader's path.
    Example: torch of CUDA 12.8 on a driver of CUDA 11.4
    Instead: upgrade the driver, or install torch for an older CUDA
    Source: CUDA compatibility, minor version and forward compatibility
    """
    built, theirs = known(host.facts.versions.torch_cuda), known(host.facts.nvidia.cuda)
    need, have = versions.parse(built), versions.parse(theirs)
    if need and have and need.major > have.major and "compat" not in (host.get("LD_LIBRARY_PATH") or ""):
        message = (
            f"torch was built for CUDA {escaped(built[:20])}, and the driver supports CUDA {escaped(theirs[:20])}"
        )
        lines = (f"driver {escaped(str(host.facts.nvidia.driver)[:40])}",)
        yield report.host(
            "NVIDIA driver", message, "upgrade the driver or install torch for an older CUDA", evidence=lines
        )
