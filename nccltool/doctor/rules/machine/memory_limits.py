"""Limits on address space and mappings that CUDA reaches, and too few processors for the ranks."""

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, rule
from nccltool.hosts.facts import numbers, or_none

_OVERCOMMIT, _MAPS = "vm.overcommit_memory", "vm.max_map_count"
_DEFAULT_MAPS = 65530
"""DEFAULT_MAX_MAP_COUNT of the kernel."""


def _has_gpus(host: JudgedHost) -> bool:
    """Raises NotKnown where neither driver could be asked."""
    return bool(or_none(host.facts.amd.gpus) or known(host.facts.nvidia.gpus))


@rule("LIM013", "error", covers=(), needs=("limits", "nvidia", "amd", "cpu"))
def limited_address_space(host: JudgedHost) -> Results:
    """The address space of a process is limited on a host with GPUs.

    Why: CUDA and ROCm reserve addresses for the memory of the host and of all GPUs together, far more than a
    process uses. The first call of CUDA fails with "out of memory".
    Example: ulimit -v is 64 GiB
    Instead: ulimit -v unlimited
    Source: CUDA programming guide, unified virtual address space; bash manual, ulimit
    """
    if not _has_gpus(host):
        return
    limit, memory = known(host.facts.limits.address_space_soft_bytes), or_none(host.facts.cpu.memory_bytes)
    if limit is not None:
        severity: Severity = "error" if memory is not None and limit < memory else "warning"
        message = f"a process may have {limit / 2**30:.0f} GiB of addresses, and CUDA reserves more"
        remedy = "ulimit -v unlimited; in Slurm, check VSizeFactor and propagated limits"
        lines = (f"Max address space: {limit}",)
        yield report.host("address space", message, remedy, evidence=lines, severity=severity)


@rule("LIM014", "warning", covers=(), needs=("kernel", "nvidia", "amd"))
def strict_overcommit(host: JudgedHost) -> Results:
    """The kernel counts reserved memory strictly (vm.overcommit_memory is 2) on a host with GPUs.

    Why: What CUDA reserves counts as used. Pinned buffers, cuMem reservations, and the forks of data loaders fail
    with "Cannot allocate memory" although memory is free.
    Example: vm.overcommit_memory is 2
    Instead: sysctl -w vm.overcommit_memory=0
    Source: Linux, Documentation/mm/overcommit-accounting.rst
    """
    if _has_gpus(host) and known(host.facts.kernel.sysctl(_OVERCOMMIT)).strip() == "2":
        message = "reserved memory counts as used: allocations of CUDA and forks fail"
        yield report.host(_OVERCOMMIT, message, f"sysctl -w {_OVERCOMMIT}=0", evidence=(f"{_OVERCOMMIT} = 2",))


@rule("LIM015", "warning", covers=(), needs=("kernel", "nvidia", "amd"))
def few_memory_maps(host: JudgedHost) -> Results:
    """A process may have fewer memory mappings than the kernel allows by default.

    Why: Each buffer that is shared or registered is a mapping. When none is left, mmap fails, and NCCL and the
    caching allocator report that memory is exhausted.
    Example: vm.max_map_count is 8192
    Instead: sysctl -w vm.max_map_count=262144
    Source: Linux, Documentation/admin-guide/sysctl/vm.rst, max_map_count
    """
    if not _has_gpus(host):
        return
    text = known(host.facts.kernel.sysctl(_MAPS)).strip()
    if text.isdecimal() and int(text) < _DEFAULT_MAPS:
        message = f"a process may have {text} memory mappings; the default is {_DEFAULT_MAPS}"
        yield report.host(_MAPS, message, f"sysctl -w {_MAPS}=262144", evidence=(f"{_MAPS} = {text}",))


@rule("LIM017", "warning", covers=(), needs=("cpu", "rank"))
def ranks_on_few_processors(host: JudgedHost) -> Results:
    """The ranks of a node may use fewer processors than there are ranks, or a Slurm rank may use only one.

    Why: Ranks, NCCL's threads, and data loaders take turns, so steps take many times as long or time out. Slurm
    gives a task one processor by default, and torchrun with all its ranks is one task.
    Example: #SBATCH --ntasks-per-node=1 without --cpus-per-task, and torchrun --nproc-per-node=8
    Instead: #SBATCH --cpus-per-task=64, and srun --cpus-per-task=64
    Source: Slurm documentation, sbatch, --cpus-per-task; sched_setaffinity(2);
    https://github.com/Lightning-AI/pytorch-lightning/issues/18650
    """
    ranks = host.integer("LOCAL_WORLD_SIZE") if host.get("TORCHELASTIC_RUN_ID") is not None else None
    ranks = ranks or host.integer("PET_NPROC_PER_NODE") or 1
    for name in ("SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK") if ranks > 1 else ():
        given = host.number(name)
        if given is not None and 0 < given[1] < ranks:
            message = f"{counted(given[1], 'processor')} for {ranks} ranks"
            yield report.about(given[0], message, "request more: --cpus-per-task, also for srun")
            return
    of_slurm = host.get("SLURM_PROCID") is not None and host.get("SLURM_STEP_ID") is not None
    allowed = numbers(or_none(host.facts.cpu.allowed) or "")
    if allowed and len(allowed) < (ranks if ranks > 1 else 2 if of_slurm else 1):
        remedy = "request more: --cpus-per-task, also for srun; or start the launcher unbound"
        lines = (f"Cpus_allowed_list: {or_none(host.facts.cpu.allowed)}",)
        message = f"{counted(len(allowed), 'processor')} for {counted(ranks, 'rank')}"
        yield report.host("processors", message, remedy, evidence=lines)
