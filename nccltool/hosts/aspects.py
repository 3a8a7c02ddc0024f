"""What of a host should be the same on all hosts of a job: aspects, each with its value or why it is not known."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, Interface, RdmaPort, Text, or_none
from nccltool.hosts.facts.leaves import then

_OF_A_RANK = re.compile(
    r"(^|_)(RANK|RANKID|PROCID|LOCALID|NODEID|HOSTNAME|NODENAME|LOCAL_RANK|PID|STEP_TASK_PID)$|^PMIX?_|^PMI_|"
    r"^OMPI_(COMM_WORLD_.*|FILE_LOCATION|MCA_(orte|ess|shmem|plm|routed)(_.*)?)$|^(CUDA|NVIDIA|ROCR|HIP)_VISIBLE_DEVICES$|^NCCL_HOSTID$|"
    r"^SLURM_(GTIDS|TASK_PID|CPU_BIND.*|CPUS_ON_NODE)$|^TORCHELASTIC_ERROR_FILE$|^JOB_COMPLETION_INDEX$|^PRTE_|^(PWD|HOME|TMPDIR)$|^NCCLTOOL_"
)
"""Variables that naturally differ from rank to rank."""

_CARDS = re.compile(r"(eth|en|net|ib|hsn)[a-z]*\d\w*")
"""Names of network cards, and of what stands for one in a container."""

_SYSCTLS = (
    "kernel.numa_balancing", "net.ipv4.ip_local_port_range", "net.core.somaxconn", "net.core.rmem_max",
    "net.core.wmem_max", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_mtu_probing", "vm.zone_reclaim_mode",
)  # fmt: skip

MTU, NCCL = "MTU", "NCCL"


class Aspect(NamedTuple):
    """Something that should be the same on all hosts of a job."""

    code: str
    """The kind of difference that it would be."""
    what: str
    """The name of a variable, the path of a file, `kernel`, MTU, NCCL, ..."""
    of: str = ""
    """The interface, port or board that has it."""

    def __str__(self) -> str:
        return f"{self.what} of {self.of}" if self.of else self.what


_Told = Iterator[tuple[Aspect, Text]]


def aspects(host: HostFacts) -> _Told:
    """Everything of a host that should be the same on all of them."""
    for name, value in host.env.items():
        if not _of_a_rank(name):
            yield Aspect("env-differs", name), value
    for file in host.conf_files:
        yield Aspect("conf-differs", file.path), "missing" if file.exists is False else then(file.text, _digest)
    yield from _software(host)
    yield from _network(host)
    yield from _rdma(host)
    yield from _gpus(host)
    yield from _limits(host)
    yield from _kernel(host)
    state = then(host.clock.synchronised, lambda yes: "synchronized" if yes else "not synchronized")
    yield Aspect("clock-differs", "clock"), state


@lru_cache(maxsize=4096)
def _of_a_rank(name: str) -> bool:
    return _OF_A_RANK.search(name) is not None


def _digest(text: str) -> str:
    return f"sha256 {sha256(text.encode()).hexdigest()[:12]}"


def _software(host: HostFacts) -> _Told:
    versions, nvidia = host.versions, host.nvidia
    for name, leaf in (
        ("torch", versions.torch),
        (NCCL, versions.nccl),
        ("RCCL", versions.rccl),
        ("torch's CUDA", versions.torch_cuda),
        ("torch's HIP", versions.torch_hip),
    ):
        yield Aspect("version-differs", name), leaf if leaf != "" else "not installed"
    for code, name, leaf in (
        ("driver-differs", "NVIDIA driver", nvidia.driver),
        ("driver-differs", "NVIDIA driver flavor", nvidia.flavour),
        ("driver-differs", "driver's CUDA", nvidia.cuda),
        ("driver-differs", "amdgpu driver", host.amd.driver),
        ("driver-differs", "mlx5 driver", versions.ofed),
        ("system-differs", "kernel", host.kernel.release),
        ("system-differs", "operating system", versions.os),
        ("system-differs", "Python", versions.python),
        ("system-differs", "glibc", versions.glibc),
        ("system-differs", "libfabric", versions.libfabric),
    ):
        yield Aspect(code, name), leaf if leaf != "" else "none"
    if not isinstance(host.plugins, Unknown):
        named = sorted(f"{one.name} {or_none(one.library.version) or ''}".strip() for one in host.plugins)
        yield Aspect("version-differs", "NCCL plugins"), _joined(named)


def _joined(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _network(host: HostFacts) -> _Told:
    interfaces = or_none(host.network.interfaces) or ()
    real = [
        one for one in interfaces if one.virtual is False or one.kind in ("bond", "vlan") or _of_a_container(one)
    ]
    names = then(host.network.interfaces, lambda _: _joined(sorted(one.name for one in real)))
    yield Aspect("interface-differs", "interfaces"), names
    for one in real:
        yield Aspect("interface-differs", MTU, one.name), then(one.mtu, str)
        yield Aspect("interface-differs", "state", one.name), one.operstate
        if not isinstance(one.speed_mbps, Unknown):
            yield Aspect("interface-differs", "speed", one.name), f"{one.speed_mbps / 1000:g} Gb/s"


def _of_a_container(one: Interface) -> bool:
    """The end of a veth pair that leads out of a network namespace: what a pod has for a network card."""
    return bool(_CARDS.fullmatch(one.name)) and not one.master and one.kind in ("", "veth", "macvlan", "ipvlan")


def _rdma(host: HostFacts) -> _Told:
    names = then(host.rdma.devices, lambda devices: _joined(one.name for one in devices))
    yield Aspect("rdma-differs", "RDMA devices"), names
    boards: dict[str, set[str]] = defaultdict(set)
    for one in or_none(host.rdma.devices) or ():
        if isinstance(one.fw_ver, str):
            boards[or_none(one.board_id) or or_none(one.driver) or one.name].add(one.fw_ver)
        for port in or_none(one.ports) or ():
            yield from _port(f"{one.name}:{port.number}", port)
    for board, versions in boards.items():
        yield Aspect("driver-differs", "firmware", board), ", ".join(sorted(versions))


def _port(name: str, port: RdmaPort) -> _Told:
    yield Aspect("rdma-differs", "state", name), port.state
    yield Aspect("rdma-differs", "rate", name), then(port.rate_gbps, lambda rate: f"{rate:g} Gb/s")
    yield Aspect("rdma-differs", "link layer", name), port.link_layer
    if port.link_layer == "Ethernet" and not isinstance(port.gids, Unknown):
        found = [str(gid.index) for gid in port.gids if gid.type == "RoCE v2" and not gid.gid.startswith("fe80")]
        yield Aspect("rdma-differs", "indices of RoCE v2 GIDs", name), _joined(found)
    if port.link_layer == "InfiniBand" and not isinstance(port.pkeys, Unknown):
        yield Aspect("rdma-differs", "partition keys", name), ", ".join(f"{key:#06x}" for key in port.pkeys)


def _kinds(names: Iterable[Text]) -> str:
    kinds = Counter(or_none(name) or "?" for name in names)
    return _joined(f"{count} x {kind}" for kind, count in sorted(kinds.items()))


def _gpus(host: HostFacts) -> _Told:
    gpus, others = or_none(host.nvidia.gpus) or (), or_none(host.amd.gpus) or ()
    yield Aspect("gpu-differs", "GPUs"), then(host.gpu_names, _kinds)
    for title, leaves in (
        ("GPU VBIOS", {*(one.vbios for one in gpus), *(one.vbios for one in others)}),
        ("GPU fabric state", {one.fabric_state for one in gpus}),
        ("GPU partitions", {one.compute_partition for one in others}),
        ("GPU memory partitions", {one.memory_partition for one in others}),
        ("Infinity Fabric peers per GPU", {then(one.xgmi_peers, str) for one in others}),
    ):
        told = sorted(leaf for leaf in leaves if isinstance(leaf, str))
        if told:
            yield Aspect("gpu-differs", title), ", ".join(told)
    links = [one.nvlinks for one in gpus if not isinstance(one.nvlinks, Unknown)]
    if links:
        active = [str(sum(link.active for link in each)) for each in links]
        yield Aspect("gpu-differs", "active NVLinks per GPU"), ", ".join(active)
    modules = host.kernel.modules
    if gpus and not isinstance(modules, Unknown):
        loaded = any(module.name == "nvidia_peermem" for module in modules)
        yield Aspect("gpu-differs", "nvidia_peermem"), "loaded" if loaded else "not loaded"


def _limits(host: HostFacts) -> _Told:
    limits = host.limits
    for name, leaf in (
        ("open files (soft)", limits.nofile_soft),
        ("open files (hard)", limits.nofile_hard),
        ("locked memory, bytes", limits.memlock_soft_bytes),
        ("stack, bytes", limits.stack_soft_bytes),
        ("user processes", limits.nproc_soft),
        ("cgroup processes", limits.pids_max),
        ("cgroup memory, bytes", limits.memory_max_bytes),
        ("shared memory, bytes", host.shm.size_bytes),
    ):
        yield Aspect("limit-differs", name), "unlimited" if leaf is None else then(leaf, str)
    cores = limits.cpu_cores
    if not isinstance(cores, Unknown):
        yield Aspect("limit-differs", "cgroup CPUs"), "unlimited" if cores is None else f"{cores:g}"


def _kernel(host: HostFacts) -> _Told:
    for setting in host.kernel.sysctls:
        if setting.name in _SYSCTLS:
            yield Aspect("kernel-differs", setting.name), then(setting.value, lambda text: " ".join(text.split()))
    if isinstance(host.kernel.cmdline, str):
        words = [word for word in host.kernel.cmdline.split() if "iommu" in word or word.startswith("pci=")]
        yield Aspect("kernel-differs", "IOMMU kernel option"), " ".join(sorted(words)) or "nothing"
    yield Aspect("kernel-differs", "clock source"), host.kernel.clocksource
