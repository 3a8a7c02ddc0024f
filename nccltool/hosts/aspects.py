"""What of a host should be the same on all hosts of a job: aspects, each with its value or why it is not known."""

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, Interface, Limit, RdmaDevice, RdmaPort, Text

_OF_A_RANK = re.compile(
    r"(^|_)(RANK|RANKID|PROCID|LOCALID|NODEID|HOSTNAME|NODENAME|LOCAL_RANK|PID|STEP_TASK_PID)$|^PMIX?_|^PMI_|"
    r"^OMPI_(COMM_WORLD_.*|FILE_LOCATION|MCA_(orte|ess|shmem|plm|routed)(_.*)?)$|^(CUDA|NVIDIA|ROCR|HIP)_VISIBLE_DEVICES$|^NCCL_HOSTID$|"
    r"^SLURM_(GTIDS|TASK_PID|CPU_BIND.*|CPUS_ON_NODE)$|^TORCHELASTIC_ERROR_FILE$|^JOB_COMPLETION_INDEX$|^PRTE_|^(PWD|HOME|TMPDIR)$|^NCCLTOOL_"
)
"""Variables that differ from rank to rank by their nature."""

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


def aspects(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    """Everything of a host that should be the same on all of them."""
    for name, value in host.env.items():
        if not _of_a_rank(name):
            yield Aspect("env-differs", name), value
    for file in host.conf_files:
        yield Aspect("conf-differs", file.path), _content(file.exists, file.text)
    yield from _versions(host)
    yield from _network(host)
    yield from _rdma(host)
    yield from _gpus(host)
    yield from _limits(host)
    yield from _kernel(host)
    yield Aspect("clock-differs", "clock"), _flag(host.clock.synchronised, "synchronised", "not synchronised")


@lru_cache(maxsize=4096)
def _of_a_rank(name: str) -> bool:
    return _OF_A_RANK.search(name) is not None


def _content(exists: bool | Unknown, text: Text) -> Text:
    if exists is False:
        return "missing"
    return text if isinstance(text, Unknown) else f"sha256 {sha256(text.encode()).hexdigest()[:12]}"


def _flag(flag: bool | Unknown, yes: str, no: str) -> Text:
    return flag if isinstance(flag, Unknown) else yes if flag else no


def _versions(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    versions, nvidia = host.versions, host.nvidia
    for name, leaf in (("torch", versions.torch), (NCCL, versions.nccl), ("CUDA of torch", versions.torch_cuda)):
        yield Aspect("version-differs", name), leaf if leaf != "" else "not installed"
    for name, leaf in (
        ("NVIDIA driver", nvidia.driver),
        ("flavour of the NVIDIA driver", nvidia.flavour),
        ("CUDA of the driver", nvidia.cuda),
        ("driver of mlx5", versions.ofed),
    ):
        yield Aspect("driver-differs", name), leaf if leaf != "" else "none"
    if not isinstance(host.plugins, Unknown):
        named = sorted(f"{one.name} {_told(one.library.version)}".strip() for one in host.plugins)
        yield Aspect("version-differs", "plugins of NCCL"), ", ".join(named) or "none"
    for name, leaf in (
        ("kernel", host.kernel.release),
        ("operating system", versions.os),
        ("Python", versions.python),
        ("glibc", versions.glibc),
        ("libfabric", versions.libfabric),
    ):
        yield Aspect("system-differs", name), leaf if leaf != "" else "none"


def _told(leaf: Text) -> str:
    return "" if isinstance(leaf, Unknown) else leaf


def _network(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    interfaces = host.network.interfaces
    if isinstance(interfaces, Unknown):
        yield Aspect("interface-differs", "interfaces"), interfaces
        return
    real = [
        one for one in interfaces if one.virtual is False or one.kind in ("bond", "vlan") or _of_a_container(one)
    ]
    yield Aspect("interface-differs", "interfaces"), ", ".join(sorted(one.name for one in real)) or "none"
    for one in real:
        yield from _interface(one)


def _of_a_container(one: Interface) -> bool:
    """The end of a veth pair that leads out of a network namespace: what a pod has for a network card."""
    return bool(_CARDS.fullmatch(one.name)) and not one.master and one.kind in ("", "veth", "macvlan", "ipvlan")


def _interface(one: Interface) -> Iterator[tuple[Aspect, Text]]:
    yield Aspect("interface-differs", MTU, one.name), one.mtu if isinstance(one.mtu, Unknown) else str(one.mtu)
    yield Aspect("interface-differs", "state", one.name), one.operstate
    if not isinstance(one.speed_mbps, Unknown):
        yield Aspect("interface-differs", "speed", one.name), f"{one.speed_mbps / 1000:g} Gb/s"


def _rdma(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    devices = host.rdma.devices
    if isinstance(devices, Unknown):
        yield Aspect("rdma-differs", "RDMA devices"), devices
        return
    yield Aspect("rdma-differs", "RDMA devices"), ", ".join(one.name for one in devices) or "none"
    yield from _firmware(devices)
    for one in devices:
        for port in () if isinstance(one.ports, Unknown) else one.ports:
            yield from _port(f"{one.name}:{port.number}", port)


def _firmware(devices: tuple[RdmaDevice, ...]) -> Iterator[tuple[Aspect, Text]]:
    boards: dict[str, set[str]] = {}
    for one in devices:
        if isinstance(one.fw_ver, str):
            boards.setdefault(_told(one.board_id) or _told(one.driver) or one.name, set()).add(one.fw_ver)
    for board, versions in boards.items():
        yield Aspect("driver-differs", "firmware", board), ", ".join(sorted(versions))


def _port(name: str, port: RdmaPort) -> Iterator[tuple[Aspect, Text]]:
    rate = port.rate_gbps
    yield Aspect("rdma-differs", "state", name), port.state
    yield Aspect("rdma-differs", "rate", name), rate if isinstance(rate, Unknown) else f"{rate:g} Gb/s"
    yield Aspect("rdma-differs", "link layer", name), port.link_layer
    if port.link_layer == "Ethernet" and not isinstance(port.gids, Unknown):
        found = [str(gid.index) for gid in port.gids if gid.type == "RoCE v2" and not gid.gid.startswith("fe80")]
        yield Aspect("rdma-differs", "indexes of RoCE v2 GIDs", name), ", ".join(found) or "none"
    if port.link_layer == "InfiniBand" and not isinstance(port.pkeys, Unknown):
        yield Aspect("rdma-differs", "partition keys", name), ", ".join(f"{key:#06x}" for key in port.pkeys)


def _gpus(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    gpus = host.nvidia.gpus
    if isinstance(gpus, Unknown):
        yield Aspect("gpu-differs", "GPUs"), gpus
        return
    names = [_told(one.name) or "?" for one in gpus]
    kinds = sorted(set(names))
    yield Aspect("gpu-differs", "GPUs"), ", ".join(f"{names.count(kind)} x {kind}" for kind in kinds) or "none"
    for title, leaves in (
        ("VBIOS of GPUs", {one.vbios for one in gpus}),
        ("fabric state of GPUs", {one.fabric_state for one in gpus}),
    ):
        told = sorted(leaf for leaf in leaves if isinstance(leaf, str))
        if told:
            yield Aspect("gpu-differs", title), ", ".join(told)
    links = [one.nvlinks for one in gpus if not isinstance(one.nvlinks, Unknown)]
    if links:
        active = [sum(link.active for link in each) for each in links]
        yield Aspect("gpu-differs", "active NVLinks of each GPU"), ", ".join(map(str, active))
    modules = host.kernel.modules
    if gpus and not isinstance(modules, Unknown):
        loaded = any(module.name == "nvidia_peermem" for module in modules)
        yield Aspect("gpu-differs", "nvidia_peermem"), "loaded" if loaded else "not loaded"


def _limits(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    limits = host.limits
    named = (
        ("open files (soft)", limits.nofile_soft),
        ("open files (hard)", limits.nofile_hard),
        ("locked memory, bytes", limits.memlock_soft_bytes),
        ("stack, bytes", limits.stack_soft_bytes),
        ("processes of the user", limits.nproc_soft),
        ("processes of the cgroup", limits.pids_max),
        ("memory of the cgroup, bytes", limits.memory_max_bytes),
        ("size of /dev/shm, bytes", host.shm.size_bytes),
    )
    for name, leaf in named:
        yield Aspect("limit-differs", name), _limit(leaf)
    cores = limits.cpu_cores
    if not isinstance(cores, Unknown):
        yield Aspect("limit-differs", "processors of the cgroup"), "unlimited" if cores is None else f"{cores:g}"


def _limit(limit: Limit) -> Text:
    return limit if isinstance(limit, Unknown) else "unlimited" if limit is None else str(limit)


def _kernel(host: HostFacts) -> Iterator[tuple[Aspect, Text]]:
    for setting in host.kernel.sysctls:
        if setting.name in _SYSCTLS:
            value = setting.value
            known = value if isinstance(value, Unknown) else " ".join(value.split())
            yield Aspect("kernel-differs", setting.name), known
    if isinstance(host.kernel.cmdline, str):
        words = [word for word in host.kernel.cmdline.split() if "iommu" in word or word.startswith("pci=")]
        yield Aspect("kernel-differs", "IOMMU on the command line"), " ".join(sorted(words)) or "nothing"
    yield Aspect("kernel-differs", "clock source"), host.kernel.clocksource
