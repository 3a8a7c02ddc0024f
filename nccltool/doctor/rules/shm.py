"""Shared memory between ranks in a node: /dev/shm, cuMem host allocations, and namespaces."""

# ruff: noqa: S108 - nothing is written to /dev/shm
from collections.abc import Generator, Iterator, Mapping, Sequence

from nccltool.core.findings import Severity
from nccltool.core.host_lists import fold
from nccltool.core.text import counted, escaped, whole
from nccltool.core.units import format_bytes
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version, parse
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, by_value, for_number, rule
from nccltool.hosts.facts import known, or_none

_MIB = 1 << 20
_BASE, _PER_RANK = 64 * _MIB, 32 * _MIB
"""What NCCL puts into /dev/shm. Docker's default of 64 MiB is the size at which initialization fails:
https://github.com/NVIDIA/nccl/issues/290."""
_PLENTY = 4096 * _MIB
"""Enough for 126 ranks."""
_FOLDER = "/dev/shm"


@for_number("SHM001", "warning", "NCCL_SHM_DISABLE", covers=("P2P-007",))
def shared_memory_disabled(_: JudgedHost, variable: Variable, disabled: int) -> Results:
    """NCCL_SHM_DISABLE=1 disables shared memory.

    Why: Within a node, GPUs without direct access to each other then use the network.
    Example: NCCL_SHM_DISABLE=1
    Instead: unset NCCL_SHM_DISABLE and enlarge /dev/shm
    Source: NCCL user guide, NCCL_SHM_DISABLE
    """
    if disabled == 1:
        remedy = "unset NCCL_SHM_DISABLE and give the container more shared memory: docker run --shm-size=1g"
        message = "within a node, GPUs without direct access to each other use the network"
        yield report.better_unset(variable, message, remedy)


@for_number("SHM002", "warning", "NCCL_SHM_DISABLE", covers=("P2P-008",), needs=("nvidia",))
def no_way_inside_the_node(host: JudgedHost, shm: Variable, disabled: int) -> Results:
    """NCCL_P2P_DISABLE and NCCL_SHM_DISABLE are both 1.

    Why: All traffic within the node goes through adapters or TCP loopback, which is useful only for testing the
    network.
    Example: NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1
    Instead: unset both variables
    Source: https://github.com/NVIDIA/nccl/issues/2079
    """
    p2p = host.variable("NCCL_P2P_DISABLE")
    if p2p and disabled == 1 and host.integer(p2p.name) == 1:
        message = "GPUs in one node can reach each other only over the network"
        remedy = "unset NCCL_P2P_DISABLE NCCL_SHM_DISABLE"
        lines = (f"{escaped(p2p.origin)}: {p2p.name}={escaped(p2p.value[:40])}",)
        gpus = or_none(host.facts.nvidia.gpus) or ()
        nvlink = any(link.active is True for gpu in gpus for link in or_none(gpu.nvlinks) or ())
        severity: Severity | None = "error" if nvlink else None
        fix = report.unset(p2p, shm)
        yield report.about(shm, message, remedy, part="", evidence=lines, fix=fix, severity=severity)


@rule("SHM003", "warning", covers=("P2P-009",), needs=("shm",))
def small_shared_memory(host: JudgedHost) -> Results:
    """/dev/shm has less free space than 64 MiB plus 32 MiB per rank.

    Why: NCCL cannot extend its segments: initialization fails, or the process dies with SIGBUS. Docker's default
    is 64 MiB.
    Example: docker run without --shm-size
    Instead: docker run --shm-size=1g or --ipc=host; in Kubernetes, mount an emptyDir with medium: Memory at
    /dev/shm
    Source: NCCL user guide, troubleshooting, shared memory; https://github.com/NVIDIA/nccl/issues/290
    """
    if host.facts.shm.exists is False:
        return
    size, free = known(host.facts.shm.size_bytes), or_none(host.facts.shm.free_bytes)
    least = size if free is None else min(size, free)
    ranks = or_none(host.local_ranks) or 1
    needed = _BASE + _PER_RANK * ranks
    if least < min(needed, _PLENTY):
        message = f"/dev/shm has {format_bytes(least)}; {counted(ranks, 'rank')} may need {format_bytes(needed)}"
        remedy = "docker run --shm-size=1g or --ipc=host; on the host: mount -o remount,size=8g /dev/shm"
        lines = (f"size {format_bytes(size)}, free {'unknown' if free is None else format_bytes(free)}",)
        severity: Severity | None = "error" if least < _BASE and ranks > 1 else None
        yield report.file(_FOLDER, message, remedy, evidence=lines, severity=severity)
    elif least < _PLENTY:
        known(host.local_ranks)


@rule("SHM004", "error", covers=("P2P-010",), needs=("shm",))
def unusable_shared_memory(host: JudgedHost) -> Results:
    """/dev/shm is missing, not writable, or not a tmpfs.

    Why: NCCL cannot create segments in it. On a disk file system, segments work, but the kernel may write every
    modified page to disk.
    Example: a chroot without /dev/shm
    Instead: mount -t tmpfs tmpfs /dev/shm
    Source: NCCL user guide, troubleshooting, shared memory; src/os/linux.cc (ncclOsShmOpen)
    """
    shm = host.facts.shm
    why, severity = "", None
    if known(shm.exists) is False:
        why = "/dev/shm does not exist"
    elif shm.writable is False:
        why = "this user cannot write to /dev/shm"
    elif isinstance(shm.fstype, str) and shm.fstype not in ("tmpfs", "ramfs"):
        why, severity = f"/dev/shm is on {escaped(shm.fstype[:40])}, not in memory", "warning"
    if not why:
        yield from (leaf for leaf in (shm.writable, shm.fstype) if isinstance(leaf, Unknown))
        return
    remedy, made = "mount -t tmpfs -o mode=1777 tmpfs /dev/shm", "NCCL creates its segments as /dev/shm/nccl-*"
    yield report.file(_FOLDER, why, remedy, evidence=(made,), severity="warning" if severity else None)


@rule("SHM005", "info", covers=("P2P-011",), needs=("shm",))
def stale_segments(host: JudgedHost) -> Results:
    """/dev/shm contains NCCL segments that no process uses.

    Why: Killed jobs left them behind, and they take memory from the next job.
    Example: /dev/shm/nccl-Xk2aB1, which no process has open
    Instead: remove the segments in the scheduler's epilog
    Source: NCCL src/os/linux.cc (ncclOsShmOpen)
    """
    files = known(host.facts.shm.nccl_files)
    stale = [file for file in files if file.mapped is False]
    if stale:
        names = " ".join(f"{_FOLDER}/{escaped(file.name[:40])}" for file in stale[:4])
        message = f"{counted(len(stale), 'NCCL segment')} that no process uses"
        lines = (f"{names}: {format_bytes(sum(file.size_bytes for file in stale))} in all",)
        yield report.file(_FOLDER, message, f"rm {names}" + (" ..." if len(stale) > 4 else ""), evidence=lines)
    yield from {file.mapped for file in files if isinstance(file.mapped, Unknown)}


@across("SHM006", "warning", covers=("P2P-012",), needs=("boot_id", "names", "shm", "container"))
def separate_namespaces(hosts: Sequence[JudgedHost]) -> Results:
    """Ranks on one machine differ in host name, /dev/shm, IPC namespace, or network namespace.

    Why: NCCL treats ranks with different host names or /dev/shm as remote and does not use NVLink between them.
    Ranks exchange handles over abstract sockets, which do not cross network namespaces.
    Example: one pod per GPU
    Instead: use one container per node or give all containers the same host name, a shared /dev/shm, and
    NCCL_IPC_USE_ABSTRACT_SOCKET=0
    Source: NCCL src/graph/paths.cc (ncclTopoCheckP2p), src/misc/utils.cc;
    https://github.com/NVIDIA/nccl/issues/1328
    """
    for machine in (yield from _machines(hosts)):
        for what, values in _differing(machine):
            yield report.host(
                escaped(fold(host.name for host in machine)[:120]),
                f"ranks on one machine have {len(values)} different {what}",
                "use one container per node or share the IPC and network namespaces: --ipc=host --network=host",
                evidence=tuple(escaped(value[:80]) for value in values[:4]),
                fix=report.export("NCCL_IPC_USE_ABSTRACT_SOCKET", "0") if what == "network namespaces" else (),
            )


def _machines(hosts: Sequence[JudgedHost]) -> Generator[Unknown, None, list[list[JudgedHost]]]:
    """Those that share a kernel and are several."""
    boots = yield from by_value(hosts, lambda host: host.facts.boot_id)
    return [some for some in boots.values() if len(some) > 1]


def _differing(machine: Sequence[JudgedHost]) -> Iterator[tuple[str, list[str]]]:
    abstract = any(host.integer("NCCL_IPC_USE_ABSTRACT_SOCKET") != 0 for host in machine)
    leaves: Mapping[str, Sequence[object]] = {
        "host names": [host.facts.names.hostname for host in machine],
        "file systems at /dev/shm": [host.facts.shm.device for host in machine],
        "IPC namespaces": [host.facts.container.namespace("ipc") for host in machine],
        "network namespaces": [host.facts.container.namespace("net") for host in machine] if abstract else [],
    }
    for what, values in leaves.items():
        seen = list(dict.fromkeys(str(value) for value in values if not isinstance(value, Unknown)))
        if len(seen) > 1:
            yield what, seen


_HOST_BY_DEFAULT, _FALLS_BACK = (2, 24), (2, 26, 5)


@rule("SHM007", "error", covers=("P2P-027",), needs=("container", "nvidia"))
def no_host_allocation(host: JudgedHost) -> Results:
    """NCCL allocates host memory with cuMem, but the container blocks the system calls that it needs.

    Why: In NCCL 2.24 to 2.26.3, initialization then fails. Docker blocks get_mempolicy unless the container has
    CAP_SYS_NICE.
    Example: NCCL 2.25 in a Docker container, with a driver for CUDA 12.6 or newer
    Instead: docker run --cap-add SYS_NICE or set NCCL_CUMEM_HOST_ENABLE=0
    Source: NCCL user guide, troubleshooting, cuMem host allocations; https://github.com/NVIDIA/nccl/issues/2106
    """
    if host.integer("NCCL_CUMEM_HOST_ENABLE") is not None or not known(host.facts.nvidia.driver):
        return
    if known(host.facts.container.mempolicy) or not host.nccl_is(since=_HOST_BY_DEFAULT, before=_FALLS_BACK):
        return
    if _cuda_is_new(host):
        message = f"NCCL {host.nccl} cannot allocate host memory in this container"
        remedy = "docker run --cap-add SYS_NICE or export NCCL_CUMEM_HOST_ENABLE=0"
        lines = ("get_mempolicy is not permitted",)
        fix = report.export("NCCL_CUMEM_HOST_ENABLE", "0")
        yield report.variable("NCCL_CUMEM_HOST_ENABLE", message, remedy, evidence=lines, fix=fix)


def _cuda_is_new(host: JudgedHost) -> bool:
    """The driver has CUDA 12.6 or newer. Raises NotKnown."""
    cuda = or_none(host.facts.nvidia.cuda)
    version = parse(cuda) if cuda else None
    if version is not None:
        return version >= Version(12, 6)
    driver = whole(known(host.facts.nvidia.driver).partition(".")[0])
    return driver is not None and driver >= 560  # the branch that brought CUDA 12.6


@across("SHM008", "warning", covers=("P2P-028",), needs=("boot_id", "container"))
def diverging_fall_back(hosts: Sequence[JudgedHost]) -> Results:
    """Only some ranks on a machine are allowed to allocate host memory with cuMem.

    Why: Since 2.26.5, each rank decides independently whether to fall back to /dev/shm; ranks that decide
    differently cannot share memory.
    Example: only some of a node's containers have CAP_SYS_NICE
    Instead: set NCCL_CUMEM_HOST_ENABLE=0 on all ranks or give all containers the same capabilities
    Source: https://github.com/NVIDIA/nccl/issues/2190; https://github.com/NVIDIA/nccl/pull/2388
    """
    for machine in (yield from _machines(hosts)):
        left = [host for host in machine if host.integer("NCCL_CUMEM_HOST_ENABLE") is None]
        may = yield from by_value(left, lambda host: known(host.facts.container.mempolicy))
        if len(may) > 1 and any(known(host.nccl) >= _FALLS_BACK for host in left):
            refused = fold(host.name for host in may[False])
            message = "ranks on one machine allocate host memory in different ways"
            remedy = "export NCCL_CUMEM_HOST_ENABLE=0 on all ranks"
            lines = (f"get_mempolicy is not permitted on {escaped(refused[:160])}",)
            fix = report.export("NCCL_CUMEM_HOST_ENABLE", "0")
            yield report.variable("NCCL_CUMEM_HOST_ENABLE", message, remedy, evidence=lines, fix=fix)
