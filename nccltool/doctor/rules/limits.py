"""Limits of processes and cgroups, and parts of the host that a container hides."""

from nccltool.core.findings import Severity
from nccltool.core.text import counted
from nccltool.core.units import format_bytes
from nccltool.doctor import report
from nccltool.doctor.rules.base import RACK, JudgedHost, Results, Unknown, escaped, known, rule
from nccltool.hosts.facts import NOT_READ, Limit, or_none
from nccltool.hosts.nccl import collective_library

_FILES, _FEW_FILES, _FILES_OF_THE_GUIDE = 65536, 4096, 131072
"""NCCL's guide asks for 131072, and says that 144 ranks with 16 GIN contexts need more than 32768."""
_FILES_BASE, _FILES_PER_RANK = 1024, 64
_RANKS_OF_THE_FAILURE = 32
"""A job on four nodes with eight GPUs each died of the usual soft limit of 1024."""
_LOCAL_RANKS_OF_ROCM = 8
"""vLLM on eight MI300 crashed at that limit; on fewer it did not."""
_SMALL_STACK = "ulimit -s 8192 before starting the ranks"
_OWN_STACKS = "; NCCL's own threads get 8 MiB"


def _has_gpus(host: JudgedHost) -> bool:
    """The driver of NVIDIA is loaded. Raises NotKnown."""
    return bool(known(host.facts.nvidia.driver))


@rule("LIM001", "warning", needs=("limits", "container"))
def few_open_files(host: JudgedHost) -> Results:
    """The hard limit on open files is low.

    Why: NCCL opens several files per connection and can raise the soft limit only up to the hard limit.
    Example: ulimit -Hn prints 4096
    Instead: set `* - nofile 131072` and, because * does not include root, `root - nofile 131072` in
    /etc/security/limits.d; set LimitNOFILE= in the systemd unit; or use docker run --ulimit nofile=131072
    Source: NCCL user guide, troubleshooting, file descriptors; limits.conf(5)
    """
    hard, nodes, local = known(host.facts.limits.nofile_hard), or_none(host.nodes), or_none(host.local_ranks)
    needed = max(_FILES, _FILES_BASE + _FILES_PER_RANK * nodes * local) if nodes and local else _FILES
    if hard is not None and hard < needed:
        message = f"a process may open {hard} files; allow at least {needed}"
        lines = (f"soft {or_none(host.facts.limits.nofile_soft)}, hard {hard}",)
        severity: Severity | None = "error" if hard < _FEW_FILES else None
        remedy = _more_files(host, max(needed, _FILES_OF_THE_GUIDE))
        yield report.host("nofile", message, remedy, evidence=lines, severity=severity)


def _more_files(host: JudgedHost, most: int) -> str:
    """What raises the limit where the process runs: a wildcard of limits.conf(5) does not hold for root."""
    if or_none(host.facts.container.inside):
        return f"docker run --ulimit nofile={most}; in Kubernetes, raise LimitNOFILE of the container runtime"
    lines = f"printf '%s - nofile {most}\\n' '*' root | sudo tee /etc/security/limits.d/nofile.conf"
    return f"{lines}, then log in again; in the systemd unit of a service such as slurmd, LimitNOFILE={most}"


@rule("LIM011", "warning", covers=(), needs=("limits", *collective_library.PARTS))
def few_open_files_at_start(host: JudgedHost) -> Results:
    """The soft limit on open files is low in a job with many ranks, or with eight ranks per node on AMD GPUs.

    Why: NCCL raises the soft limit to the hard limit only in the process that serves the bootstrap. Other
    processes keep their initial limit. ROCm also opens a file for each allocation that processes can share and
    for each kernel library; at the limit, it reports that it is out of memory, or crashes.
    Example: ulimit -n prints 1024 in a job with 32 ranks
    Instead: run ulimit -n hard in the job script
    Source: NCCL src/bootstrap.cc (bootstrapRoot calls ncclOsSetFilesLimit);
    https://github.com/pytorch/pytorch/issues/137695; https://github.com/ROCm/legacy-rocm-build/issues/6661
    """
    soft = known(host.facts.limits.nofile_soft)
    if soft is None or soft >= _FEW_FILES:
        return
    local = known(host.local_ranks)
    remedy = "ulimit -n $(ulimit -Hn) before starting the ranks"
    lines = (f"soft {soft}, hard {_shown(host.facts.limits.nofile_hard)}",)
    if host.library == "RCCL" and local >= _LOCAL_RANKS_OF_ROCM:
        message = f"each rank may open {soft} files, and ROCm opens many"
        yield report.host("nofile", message, remedy, evidence=lines)
        return
    ranks = known(host.nodes) * local
    if ranks >= _RANKS_OF_THE_FAILURE:
        message = f"each rank may open {soft} files, and NCCL raises the limit in only one of {ranks} ranks"
        yield report.host("nofile", message, remedy, evidence=lines)


def _shown(limit: Limit) -> str:
    return "unlimited" if limit is None else "not known" if isinstance(limit, Unknown) else str(limit)


def _keeps_stack(host: JudgedHost) -> bool:
    """NCCL leaves the stack of its threads as it is. Raises NotKnown without a version."""
    return host.nccl_is(before=(2, 28)) or host.integer("NCCL_SET_CPU_STACK_SIZE") == 0


@rule("LIM002", "warning", needs=("limits", "nvidia"))
def unlimited_stack(host: JudgedHost) -> Results:
    """The stack size is unlimited.

    Why: glibc then gives threads a stack of only 2 MiB, and NCCL's channel search overflows it. Since 2.28, NCCL
    sets the stack size of its own threads.
    Example: ulimit -s unlimited
    Instead: ulimit -s 8192
    Source: NCCL user guide, troubleshooting, stack size; https://github.com/NVIDIA/nccl/issues/2186
    """
    if known(host.facts.limits.stack_soft_bytes) is not None:
        return
    keeps = _keeps_stack(host)
    rack = any(RACK.search(or_none(gpu.name) or "") for gpu in or_none(host.facts.nvidia.gpus) or ())
    message = "the stack size is unlimited: threads get only 2 MiB" + ("" if keeps else _OWN_STACKS)
    severity: Severity | None = "info" if not keeps else "error" if rack else None
    yield report.host("stack", message, _SMALL_STACK, evidence=("ulimit -s says unlimited",), severity=severity)


@rule("LIM003", "warning", needs=("limits",))
def small_stack(host: JudgedHost) -> Results:
    """The stack size is below 8 MiB.

    Why: Threads get stacks of the same size, and NCCL's channel search overflows them. Since 2.28, NCCL sets the
    stack size of its own threads.
    Example: ulimit -s 2048
    Instead: ulimit -s 8192
    Source: NCCL user guide, troubleshooting, stack size; src/os/linux.cc (setCpuStackSize)
    """
    soft = known(host.facts.limits.stack_soft_bytes)
    if soft is None or soft >= 8 << 20:
        return
    keeps = isinstance(host.nccl, Unknown) or _keeps_stack(host)
    message = f"threads get a stack of {format_bytes(soft)}" + ("" if keeps else _OWN_STACKS)
    evidence = (f"ulimit -s says {soft // 1024}",)
    yield report.host("stack", message, _SMALL_STACK, evidence=evidence, severity=None if keeps else "info")


@rule("LIM004", "info", needs=("limits", "container"))
def segments_removed_at_logout(host: JudgedHost) -> Results:
    """systemd-logind removes the shared memory of users who are not logged in.

    Why: Slurm and mpirun jobs have no login session, so /dev/shm/nccl-* may vanish while they run.
    Example: /etc/systemd/logind.conf without RemoveIPC=no
    Instead: set RemoveIPC=no in /etc/systemd/logind.conf and run systemctl restart systemd-logind
    Source: NCCL user guide, troubleshooting, shared memory; logind.conf(5) (root and system users are exempt)
    """
    batch = next((name for name in ("SLURM_JOB_ID", "OMPI_COMM_WORLD_SIZE") if host.get(name)), None)
    # users below 1000 are those of the system: login.defs(5), UID_MIN
    if batch and known(host.facts.limits.remove_ipc) and known(host.facts.container.uid) >= 1000:
        message = "systemd removes the shared memory of users who are not logged in, even while their jobs run"
        remedy = "set RemoveIPC=no in /etc/systemd/logind.conf, then systemctl restart systemd-logind"
        lines = (f"no file sets RemoveIPC=no; {batch} is set",)
        yield report.file("/etc/systemd/logind.conf", message, remedy, evidence=lines)


@rule("LIM005", "warning", needs=("limits",))
def small_cpu_quota(host: JudgedHost) -> Results:
    """The cgroup allows fewer than two CPUs per rank.

    Why: The kernel throttles proxy and watchdog threads along with all others, which causes timeouts under load.
    Example: resources.limits.cpu: 4 with eight ranks
    Instead: allow at least two CPUs per rank or remove the limit
    Source: rule of thumb: NCCL's proxy thread spins, and the rank needs its own CPU
    """
    cores = known(host.facts.limits.cpu_cores)
    if cores is not None and cores < 2 * known(host.local_ranks):
        shown = f"{cores:g} CPUs"
        remedy = "raise the container's limit: docker --cpus, resources.limits.cpu"
        evidence = (f"cgroup quota: {shown}",)
        yield report.host(
            "cpu.max", f"{shown} for {counted(known(host.local_ranks), 'rank')}", remedy, evidence=evidence
        )


@rule("LIM006", "warning", needs=("limits",))
def small_memory_limit(host: JudgedHost) -> Results:
    """The cgroup allows less than 4 GiB per rank or has already run out of memory.

    Why: Pinned buffers and /dev/shm count too; the kernel kills a rank that exceeds the limit.
    Example: resources.limits.memory: 16Gi with eight ranks
    Instead: allow at least 4 GiB per rank or remove the limit
    Source: rule of thumb; Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.events)
    """
    limits = host.facts.limits
    memory = known(limits.memory_max_bytes)
    if memory is not None and memory < (4 << 30) * known(host.local_ranks):
        message = f"{format_bytes(memory)} of memory for {counted(known(host.local_ranks), 'rank')}"
        remedy = "raise the container's limit: docker --memory, resources.limits.memory"
        evidence = (f"cgroup limit: {format_bytes(memory)}",)
        yield report.host("memory.max", message, remedy, evidence=evidence)
    if isinstance(limits.oom_events, Unknown):
        yield limits.oom_events
    elif limits.oom_events > 0:
        message = f"this cgroup has run out of memory {counted(limits.oom_events, 'time')}"
        remedy = "raise the limit; `dmesg` names the killed processes"
        evidence = (f"cgroup {escaped((or_none(limits.cgroup_path) or '')[:120])}",)
        yield report.host("memory.events", message, remedy, evidence=evidence)


@rule("LIM007", "warning", needs=("limits",))
def small_pids_limit(host: JudgedHost) -> Results:
    """The cgroup allows fewer than 512 threads per rank.

    Why: NCCL starts several threads per communicator, and torch and data loaders start many more. At the limit,
    pthread_create fails.
    Example: docker run --pids-limit 1024 with eight ranks
    Instead: docker run --pids-limit -1; in Kubernetes, raise the kubelet's podPidsLimit
    Source: rule of thumb; Linux, Documentation/admin-guide/cgroup-v2.rst (pids.max)
    """
    most = known(host.facts.limits.pids_max)
    if most is not None and most < 512 * known(host.local_ranks):
        remedy = "docker run --pids-limit -1; in Kubernetes, raise the kubelet's podPidsLimit"
        lines = (f"cgroup pids.max {most}, current {_shown(host.facts.limits.pids_current)}",)
        yield report.host(
            "pids.max", f"{most} threads for {counted(known(host.local_ranks), 'rank')}", remedy, evidence=lines
        )


def _under_windows(host: JudgedHost) -> bool:
    """In WSL2 Windows has the driver, and shows one device for all."""
    return any(device.path == "/dev/dxg" for device in or_none(host.facts.container.devices) or ())


@rule("LIM008", "error", needs=("nvidia", "container"))
def no_unified_memory(host: JudgedHost) -> Results:
    """The host has GPUs but no /dev/nvidia-uvm.

    Why: Since 2.23, NCCL uses CUDA memory pools, which need /dev/nvidia-uvm. Outside a container, the first
    program that uses CUDA creates the device.
    Example: a container started with --device /dev/nvidia0
    Instead: docker run --gpus all; on the host, nvidia-modprobe -u -c 0
    Source: NCCL user guide, troubleshooting, unified memory
    """
    is_missing = _has_gpus(host) and host.facts.container.device("/dev/nvidia-uvm") is None
    if is_missing and not _under_windows(host) and host.nccl_is(since=(2, 23)):
        inside = known(host.facts.container.inside)
        message = "/dev/nvidia-uvm is missing"
        remedy = "docker run --gpus all, not --device" if inside else "sudo nvidia-modprobe -u -c 0"
        lines = (f"NCCL {host.nccl}, driver {or_none(host.facts.nvidia.driver)}",)
        yield report.device(
            "/dev/nvidia-uvm", message, remedy, evidence=lines, severity=None if inside else "warning"
        )


@rule("LIM009", "warning", needs=("nvidia", "pci", "root", "container"))
def hidden_sys(host: JudgedHost) -> Results:
    """/sys does not show the PCI devices of the GPUs.

    Why: NCCL cannot see the PCI topology and treats all devices as equally distant.
    Example: a container without /sys or with the /sys of a user-space kernel
    Instead: docker run -v /sys:/sys:ro
    Source: NCCL user guide, troubleshooting, topology detection
    """
    if not _has_gpus(host) or _under_windows(host):
        return
    devices = host.facts.pci.devices
    if isinstance(devices, Unknown):
        # what this process cannot read, NCCL cannot read either; a captured tree may just not have it
        if host.facts.root != "/" or devices == NOT_READ or "/sys/" not in devices.reason:
            yield devices
            return
        why = devices.reason
    else:
        here = {device.address for device in devices}
        gone = [gpu.pci for gpu in host.gpus if not gpu.is_lost and gpu.pci not in here]
        why = f"missing: {', '.join(gone[:4])}" if gone else "" if here else "the directory is empty"
    if why:
        message, evidence = "/sys does not show the GPUs of this host", (escaped(why[:200]),)
        yield report.file("/sys/bus/pci/devices", message, "docker run -v /sys:/sys:ro", evidence=evidence)
    for gpu in host.gpus:
        if gpu.is_lost and isinstance(gpu.uuid, Unknown):  # its own fault, and none of /sys
            yield Unknown(f"PCI address of {gpu.pci} unknown: {gpu.uuid.reason}")


@rule("LIM010", "info", needs=("kernel", "cpu", "nvidia", "amd", "versions"))
def numa_balancing(host: JudgedHost) -> Results:
    """Automatic NUMA balancing is on.

    Why: The kernel unmaps pages to see which NUMA node uses them, and the resulting page faults stall NCCL's
    polling proxy threads. RCCL warns of it when it starts.
    Example: kernel.numa_balancing is 1
    Instead: sysctl -w kernel.numa_balancing=0
    Source: Linux, Documentation/admin-guide/sysctl/kernel.rst; common vendor advice
    """
    if host.library != "RCCL" and not _has_gpus(host):
        return
    name, nodes = "kernel.numa_balancing", or_none(host.facts.cpu.numa_nodes)
    value = known(host.facts.kernel.sysctl(name))
    if value.strip() != "0" and (nodes is None or len(nodes) > 1):
        message = "automatic NUMA balancing moves memory while the job runs"
        severity: Severity | None = "warning" if host.library == "RCCL" else None  # which warns itself
        lines = (f"{name} = {escaped(value[:20])}",)
        yield report.host(name, message, f"sysctl -w {name}=0", evidence=lines, severity=severity)


@rule("LIM012", "error", covers=(), needs=("amd", "container", "versions", "nvidia"))
def kfd_missing(host: JudgedHost) -> Results:
    """The host has GPUs of AMD, but no usable /dev/kfd.

    Why: ROCm opens this device. Without it, or without the permission to write to it, no GPU is found.
    Distributions give it to the group render.
    Example: docker run without --device=/dev/kfd, or a user who is only in the group video
    Instead: docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add render
    Source: ROCm documentation, running ROCm Docker containers; installation prerequisites, GPU access permissions;
    https://github.com/ROCm/ROCm-docker/issues/116
    """
    gpus = host.facts.amd.gpus
    unread = isinstance(gpus, Unknown) and host.library == "RCCL"
    if not unread and not known(gpus):
        return
    file = host.facts.container.device("/dev/kfd")
    if (file is None and not unread) or (file is not None and file.writable is False):
        message = f"/dev/kfd {'is missing' if file is None else 'cannot be opened'}: ROCm finds no GPU"
        remedy = "docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add render"
        lines = ("it is not writable" if unread else f"{counted(len(known(gpus)), 'GPU')} of AMD in sysfs",)
        yield report.device("/dev/kfd", message, remedy, evidence=lines)


@rule("LIM016", "warning", covers=(), needs=("limits", "container"))
def few_processes(host: JudgedHost) -> Results:
    """The user may have fewer than 512 processes and threads per rank.

    Why: The limit counts all threads of the user on this host. At the limit, pthread_create fails with "Resource
    temporarily unavailable" in NCCL, OpenMP, or a data loader. Root is exempt.
    Example: ulimit -u 1024 with eight ranks
    Instead: ulimit -u unlimited; nproc in /etc/security/limits.conf
    Source: getrlimit(2), RLIMIT_NPROC; pthread_create(3), EAGAIN
    """
    most = known(host.facts.limits.nproc_soft)
    if most is None or known(host.facts.container.uid) == 0:
        return
    if most < 512 * known(host.local_ranks):
        message = f"{most} processes and threads for {counted(known(host.local_ranks), 'rank')}"
        remedy = "ulimit -u unlimited; raise nproc in /etc/security/limits.conf"
        yield report.host("Max processes", message, remedy, evidence=(f"Max processes: {most}",))
