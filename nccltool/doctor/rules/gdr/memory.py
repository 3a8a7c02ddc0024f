"""How a NIC reaches the memory of a GPU: peer memory, DMA-BUF, GDRCopy, flushes."""

from nccltool.core import versions
from nccltool.core.findings import Severity
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, Variable, escaped, for_number, for_value, rule
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.facts.leaves import Flag, Text
from nccltool.hosts.nccl import values

_DMABUF_KERNEL, _DMABUF_CUDA = Version(5, 12), Version(11, 7)
"""The kernel with dma-buf for RDMA; the CUDA that NCCL asks for (src/init.cc, dmaBufSupported)."""


def _with_rdma(host: JudgedHost) -> bool:
    """Whether there are GPUs, and active ports for NCCL's own network. Raises NotKnown."""
    return bool(host.gpus) and bool(host.active_ports)


def _peermem(host: JudgedHost) -> bool:
    """Whether a module for peer memory is loaded: what NCCL looks for in /sys. Raises NotKnown."""
    peers, modules = host.facts.nvidia.memory_peers, host.facts.kernel.modules
    loaded = {module.name for module in or_none(modules) or ()}
    if "nvidia_peermem" in loaded or any(name in ("nv_mem", "nv_mem_nc") for name in or_none(peers) or ()):
        return True
    known(peers), known(modules)
    return False


def _dmabuf(host: JudgedHost) -> dict[str, Flag]:
    nvidia, release = host.facts.nvidia, host.facts.kernel.release
    kernel = _is(release, _DMABUF_KERNEL)
    if kernel is False and ".el8" in str(release):
        kernel = Unknown(
            f"unknown whether kernel {release} has dma-buf for RDMA, which its vendor may have backported"
        )
    flavour: Flag = nvidia.flavour if isinstance(nvidia.flavour, Unknown) else nvidia.flavour == "open"
    cuda = _is(nvidia.cuda, _DMABUF_CUDA)
    return {"kernel 5.12": kernel, "NVIDIA open kernel modules": flavour, "CUDA 11.7": cuda}


def _is(text: Text, least: Version) -> Flag:
    if isinstance(text, Unknown):
        return text
    version = versions.parse(text)
    return Unknown(f"{text[:40]!r} is not a version") if version is None else version >= least


@rule("GDR005", "warning", needs=("rdma", "nvidia", "kernel"))
def no_direct_rdma(host: JudgedHost) -> Results:
    """No peer-memory module is loaded, and dma-buf is unavailable.

    Why: NCCL works, but copies all data through host memory. The dma-buf path needs kernel 5.12 or newer, NVIDIA's
    open kernel modules, and CUDA 11.7 or newer.
    Example: nvidia_peermem is not loaded after a reboot
    Instead: modprobe nvidia_peermem
    Source: NCCL user guide, troubleshooting, GPU-to-NIC communication; src/transport/net_ib/gdr.cc, src/init.cc
    """
    if not _with_rdma(host) or _peermem(host) or host.integer("NCCL_DMABUF_ENABLE") == 0:
        return
    needed = _dmabuf(host)
    missing = [name for name, there in needed.items() if there is False]
    unknown = [there for there in needed.values() if isinstance(there, Unknown)]
    if missing:
        message = "no GPU Direct RDMA: NCCL copies data through host memory"
        remedy = "modprobe nvidia_peermem; echo nvidia_peermem > /etc/modules-load.d/nvidia_peermem.conf"
        lines = ("nvidia_peermem is not loaded", f"dma-buf needs {', '.join(missing)}")
        severity = host.if_several_nodes()
        yield report.host(host.name, message, remedy, evidence=lines, severity=severity)
    else:
        yield from unknown


_LOOKS_FOR_MODULE = (2, 23)
"""Since then, NCCL looks for /sys/module/nvidia_peermem too: src/transport/net_ib.cc."""


@rule("GDR013", "warning", covers=(), needs=("rdma", "nvidia", "kernel"), library="NCCL")
def peermem_unseen(host: JudgedHost) -> Results:
    """nvidia_peermem is loaded, but this NCCL looks for the older nv_peer_mem alone.

    Why: NCCL before 2.23 asks only whether /sys/kernel/mm/memory_peers/nv_mem exists. Where the kernel's own RDMA
    driver is in use, that folder is missing, and NCCL copies all data through host memory: an all-reduce fell from
    180 to 10 GB/s.
    Example: NCCL 2.22.3 with nvidia_peermem and without nv_peer_mem
    Instead: upgrade NCCL to 2.23 or newer
    Source: https://github.com/NVIDIA/nccl/issues/1676
    Since: NCCL 2.3.5
    """
    modules = {module.name for module in known(host.facts.kernel.modules)}
    if "nvidia_peermem" not in modules or {"nv_mem", "nv_mem_nc"} & set(known(host.facts.nvidia.memory_peers)):
        return
    if not host.nccl_is(before=_LOOKS_FOR_MODULE) or not _with_rdma(host):
        return
    if host.integer("NCCL_DMABUF_ENABLE") == 0 or False in _dmabuf(host).values():
        message = f"NCCL {host.nccl} does not see nvidia_peermem: it copies data through host memory"
        lines = ("/sys/kernel/mm/memory_peers has no nv_mem",)
        yield report.host(host.name, message, "upgrade NCCL to 2.23 or newer", evidence=lines)


@for_number("GDR006", "warning", "NCCL_DMABUF_ENABLE", needs=("rdma", "nvidia", "kernel"))
def both_ways_closed(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_DMABUF_ENABLE is 0, and no peer-memory module is loaded.

    Why: GPU Direct RDMA needs dma-buf or a peer-memory module.
    Example: NCCL_DMABUF_ENABLE=0 without nvidia_peermem
    Instead: unset NCCL_DMABUF_ENABLE
    Source: NCCL user guide, NCCL_DMABUF_ENABLE
    """
    if not enabled and _with_rdma(host) and not _peermem(host):
        message = "dma-buf is disabled and nvidia_peermem is not loaded: no GPU Direct RDMA"
        remedy = "unset NCCL_DMABUF_ENABLE, or: modprobe nvidia_peermem"
        yield report.better_unset(variable, message, remedy, severity=host.if_several_nodes())


@for_number("GDR007", "warning", "NCCL_GDRCOPY_ENABLE", needs=("rdma", "container"))
def gdrcopy_missing(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_GDRCOPY_ENABLE is 1, but /dev/gdrdrv or libgdrapi.so is missing.

    Why: NCCL logs a warning and continues without GDRCopy. NCCL opens libgdrapi.so, which only the development
    package provides; libgdrapi.so.2 alone is not enough.
    Example: NCCL_GDRCOPY_ENABLE=1 in a container without /dev/gdrdrv
    Instead: pass /dev/gdrdrv to the container and install libgdrapi-dev
    Source: NCCL src/misc/gdrwrap.cc (GDRAPI_LIBNAME)
    """
    if enabled != 1:
        return
    device = host.facts.container.device("/dev/gdrdrv")
    library = known(host.facts.rdma.gdrapi_link)
    missing = [name for name, there in (("/dev/gdrdrv", device), ("libgdrapi.so", library)) if not there]
    if missing:
        other = None if library else or_none(host.facts.rdma.gdrapi)
        message = f"{' and '.join(missing)} missing: NCCL continues without GDRCopy"
        remedy = (
            f"load gdrdrv, pass /dev/gdrdrv to the container, and install libgdrapi-dev; or unset {variable.name}"
        )
        lines = (f"{escaped(other)} exists, but NCCL does not open it",) if other else ()
        yield report.better_unset(variable, message, remedy, part="", evidence=lines)


@for_value(
    "GDR008",
    "warning",
    "NCCL_GDR_FLUSH_DISABLE",
    "OFI_NCCL_GDR_FLUSH_DISABLE",
    needs=("nvidia", "kernel"),
    library="NCCL",
)
def flush_disabled(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The flush after a GPU Direct RDMA receive is disabled.

    Why: The GPU may read stale data, so results are silently wrong. This affects GPUs up to Ampere and NICs with
    a data path separate from C2C. On x86 hosts with Hopper or newer GPUs, NCCL never flushes.
    Example: NCCL_GDR_FLUSH_DISABLE=1
    Instead: unset NCCL_GDR_FLUSH_DISABLE
    Source: NCCL src/transport/net_ib/connect.cc; src/graph/paths.cc (ncclTopoNeedFlush)
    """
    if host.integer(variable.name) or values.strict_bool(text):
        needless = _needs_no_flush(host)
        message = "no effect on these GPUs" if needless else "the GPU may read stale data after a receive"
        severity: Severity | None = "info" if needless else "error" if or_none(host.facts.nvidia.gpus) else None
        yield report.better_unset(variable, message, severity=severity)


def _needs_no_flush(host: JudgedHost) -> bool:
    """Whether all GPUs are known to be Hopper or newer, on x86."""
    gpus = or_none(host.facts.nvidia.gpus) or ()
    new = [(or_none(gpu.compute_capability) or 0) >= 9 for gpu in gpus]
    return bool(new) and all(new) and host.facts.kernel.arch == "x86_64"


@for_number("GDR009", "warning", "NCCL_NET_GDR_READ", needs=("nvidia",))
def direct_read_off(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NET_GDR_READ is 0 on GPUs that send with GPU Direct RDMA by default, or may do so.

    Why: NCCL first copies outgoing data to host memory. Direct sending is the default on Ampere and newer GPUs
    and on GPUs with NVLink.
    Example: NCCL_NET_GDR_READ=0
    Instead: unset NCCL_NET_GDR_READ
    Source: NCCL user guide, NCCL_NET_GDR_READ; src/graph/paths.cc (ncclTopoCheckGdr)
    """
    if enabled:
        return
    if isinstance(host.facts.nvidia.gpus, Unknown) and host.several_nodes:
        message = "NCCL first copies outgoing data to host memory, unless the GPUs are older than Ampere"
        yield report.better_unset(variable, message)
        return
    if any((or_none(gpu.compute_capability) or 0) >= 8 or or_none(gpu.nvlinks) for gpu in host.gpus):
        yield report.better_unset(variable, "NCCL first copies outgoing data to host memory")
    else:
        for gpu in host.gpus:
            known(gpu.compute_capability), known(gpu.nvlinks)


@rule("GDR012", "warning", needs=("kernel", "nvidia"))
def old_peer_memory_module(host: JudgedHost) -> Results:
    """nv_peer_mem is loaded with a driver that includes nvidia_peermem.

    Why: nvidia_peermem replaced nv_peer_mem in driver 470; the two cannot be loaded together.
    Example: nv_peer_mem with driver 570
    Instead: modprobe -r nv_peer_mem && modprobe nvidia_peermem
    Source: NCCL user guide, troubleshooting, GPU Direct; NVIDIA driver documentation, GPUDirect RDMA
    """
    if host.facts.kernel.module("nv_peer_mem") is None:
        return
    driver = known(host.facts.nvidia.driver)
    if values.atoi(driver) >= 470:
        message = f"nv_peer_mem is loaded with driver {escaped(driver)}, which includes nvidia_peermem"
        remedy = "modprobe -r nv_peer_mem && modprobe nvidia_peermem; uninstall the package nvidia-peer-memory"
        yield report.host(host.name, message, remedy, evidence=("module nv_peer_mem",))
