"""CPU affinity of NCCL's threads: whether CPUs are close to the GPU and allowed."""

import re

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_number, for_text, known, rule
from nccltool.hosts.facts import Gpu, numbers
from nccltool.hosts.nccl import values


def _far(host: JudgedHost, cpus: frozenset[int]) -> list[tuple[str, frozenset[int]]]:
    """The GPUs of this rank (of this host, where no rank is known) without one of these processors near them, and
    which are near.
    """
    local = {device.address: device.local_cpus for device in known(host.facts.pci.devices)}
    near = {gpu.pci: numbers(known(local[gpu.pci])) for gpu in _own(host, host.gpus) if gpu.pci in local}
    return [(gpu, own) for gpu, own in near.items() if own and not own & cpus]


def _own(host: JudgedHost, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The GPU that this rank will use, where indices tell; else all that it sees."""
    visible = host.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        words = visible.split(",")
        if not all(word.isdecimal() and len(word) < 4 and int(word) < len(gpus) for word in words):
            return gpus
        gpus = tuple(gpus[int(word)] for word in words)
    local = host.get("LOCAL_RANK") or ""
    if local.isdecimal() and len(local) < 4 and int(local) < len(gpus):
        return (gpus[int(local)],)
    return gpus


@rule("AFF001", "warning", covers=("P2P-023",), needs=("cpu", "pci", "nvidia", "rank"))
def far_from_the_gpu(host: JudgedHost) -> Results:
    """None of the CPUs this process may use is close to its GPU.

    Why: NCCL finds no CPU that is both close and allowed, so its proxy threads run on the other socket.
    Example: taskset -c 0-31 for the ranks on all sockets
    Instead: bind each rank to its GPU's socket with srun --cpu-bind or numactl --cpunodebind, or set
    NCCL_IGNORE_CPU_AFFINITY=1
    Source: NCCL src/graph/topo.cc (ncclTopoGetCpuAffinity); user guide, troubleshooting, affinity
    """
    if host.integer("NCCL_IGNORE_CPU_AFFINITY") or not host.gpus:
        return
    allowed = known(host.facts.cpu.allowed)
    if far := _far(host, numbers(allowed)):
        gpu, near = far[0]
        message = f"this process may not use any CPU close to {counted(len(far), 'GPU')}"
        remedy = "bind each rank to its GPU's socket: numactl --cpunodebind=N or srun --cpu-bind"
        lines = (f"allowed: {escaped(allowed[:80])}; near {gpu}: {_shown(near)}",)
        yield report.device(f"GPU {gpu}", message, remedy, evidence=lines)


def _shown(cpus: frozenset[int]) -> str:
    return f"{counted(len(cpus), 'CPU')} from {min(cpus)} to {max(cpus)}"


@for_number(
    "AFF002", "info", "NCCL_IGNORE_CPU_AFFINITY", covers=("P2P-024",), needs=("limits", "pci", "nvidia", "rank")
)
def affinity_ignored_in_vain(host: JudgedHost, variable: Variable, ignored: int) -> Results:
    """NCCL_IGNORE_CPU_AFFINITY is on, but the job's cpuset has no CPU close to the GPU.

    Why: The kernel rejects CPUs outside the cpuset, so the threads do not move.
    Example: NCCL_IGNORE_CPU_AFFINITY=1 in a job with cores on only one socket
    Instead: request cores close to the GPUs
    Source: NCCL user guide, NCCL_IGNORE_CPU_AFFINITY; sched_setaffinity(2)
    """
    if not ignored or not host.gpus:
        return
    cpuset = numbers(known(host.facts.limits.cpuset))
    if far := _far(host, cpuset):
        gpu, near = far[0]
        message = "the cpuset has no CPU close to the GPU, and the kernel rejects CPUs outside it"
        remedy = "request cores close to the GPUs, e.g. srun --gpu-bind=closest"
        lines = (f"near {gpu}: {_shown(near)}; cpuset: {_shown(cpuset or frozenset({0}))}",)
        yield report.about(variable, message, remedy, evidence=lines)


_NUMBER = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|\d+)")


@for_text("AFF003", "warning", "NCCL_PROXY_CPUSET", covers=("P2P-025",), needs=("cpu",))
def wrong_proxy_cores(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_PROXY_CPUSET contains something other than a number, or a CPU that is not allowed.

    Why: The value is a list of single numbers. NCCL reads a range as its first number and any other word as CPU 0,
    which all proxy threads then share. CPUs that are not allowed are rejected without a message.
    Example: NCCL_PROXY_CPUSET=0-7
    Instead: NCCL_PROXY_CPUSET=0,1,2,3,4,5,6,7
    Source: NCCL src/include/cpuset.h (ncclStrListToCpuset: strtoull with base 0), src/proxy.cc
    """
    words = list(values.split(text))
    odd = [word for word in words if not (match := _NUMBER.match(word)) or word[match.end() :].strip()]
    if odd:
        number = values.integer(odd[0])
        message = f"NCCL reads {odd[0][:40]!r} as CPU {number.value if number else 0}"
        yield report.better_unset(variable, message, "list single numbers, separated by commas", part=odd[0])
        return
    allowed = known(host.facts.cpu.allowed)
    wanted = {number.value for word in words if (number := values.integer(word)) and number.value is not None}
    outside = sorted(wanted - numbers(allowed))
    if outside:
        message = f"this process may not use CPU {outside[0]}"
        remedy = "use CPUs from Cpus_allowed_list in /proc/self/status"
        lines = (f"allowed: {escaped(allowed[:120])}",)
        yield report.better_unset(variable, message, remedy, part=str(outside[0]), evidence=lines)
