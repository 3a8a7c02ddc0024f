"""JUDGE the hosts of a job against each other: what most have is the norm, who differs is named. Pure.

Hosts are looked at one by one and let go, so ten thousand snapshots never lie in memory together.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from nccltool.core.findings import SEVERITIES, Finding, Severity, Subject
from nccltool.core.host_lists import fold
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostFacts, Interface, Limit, RdmaDevice, RdmaPort, Text

PAGE = "docs/differences.md"
UNSET = "not set"


@dataclass(frozen=True, slots=True)
class DifferenceKind:
    """A kind of difference."""

    code: str
    severity: Severity
    subject: Literal["host", "interface", "device", "variable", "file"]
    """Kind of the finding's subject."""
    remedy: str

    def finding(self, name: str, message: str, evidence: tuple[str, ...]) -> Finding:
        """A difference of this kind; `name` is that of its subject."""
        return Finding(
            code=self.code,
            severity=self.severity,
            subject=Subject(kind=self.subject, name=name),
            message=message,
            evidence=evidence,
            remedy=self.remedy,
            page=f"{PAGE}#{self.code}",
        )


KINDS = {
    kind.code: kind
    for kind in (
        DifferenceKind("env-differs", "warning", "variable", "set the same value on every host, in the launcher"),
        DifferenceKind("conf-differs", "warning", "file", "distribute the same file to every host"),
        DifferenceKind("version-differs", "error", "host", "install the same release on every host"),
        DifferenceKind("driver-differs", "warning", "host", "install the same driver and firmware on every host"),
        DifferenceKind("system-differs", "info", "host", "boot the same image on every host"),
        DifferenceKind(
            "interface-differs", "warning", "interface", "compare `ip -d link show` of a host of each kind"
        ),
        DifferenceKind(
            "rdma-differs", "warning", "device", "compare `rdma link show` and `ibstat` of a host of each kind"
        ),
        DifferenceKind("gpu-differs", "warning", "device", "compare `nvidia-smi -q` of a host of each kind"),
        DifferenceKind(
            "limit-differs",
            "warning",
            "host",
            "set the same limits: limits.d, the unit of the daemon, the container",
        ),
        DifferenceKind(
            "kernel-differs", "info", "host", "set the same in sysctl.d or on the kernel's command line"
        ),
        DifferenceKind(
            "clock-differs", "warning", "host", "start chronyd on these hosts; `chronyc tracking` shows its state"
        ),
        DifferenceKind("name-duplicate", "error", "host", "give each host its own name, or set NCCL_HOSTID"),
    )
}
"""By code: docs/differences.md has a section for each."""

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
_MOST_VALUES = 4
"""Of one difference that the evidence shows."""
_CLOCK_S = 30.0
"""AMD's Primus warns at this spread of clocks that were read as a job started: its start is inside of it."""
_Aspect = tuple[str, str]
"""Code, and what of it: the name of a variable, `MTU of eth0`."""
_Value = str | Unknown


@dataclass(slots=True)
class _ValuesSeen:
    hosts: dict[str, "array[int]"] = field(default_factory=dict)
    unknown: "array[int]" = field(default_factory=lambda: array("I"))
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unjudged:
    """Something that could not be read on some hosts."""

    what: str
    hosts: tuple[str, ...]
    reason: str
    """Of one of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostComparison:
    """What came of it."""

    hosts: int
    findings: tuple[Finding, ...]
    compared: int
    """Aspects that were known on two hosts or more."""
    unjudged: tuple[Unjudged, ...]


def compare(
    snapshots: Iterable[HostFacts],
    together: bool = False,
    left_out: Callable[[str, str], bool] = lambda code, what: False,
) -> HostComparison:
    """Hold the hosts against each other. `together`: looked at in one moment, so clocks can be compared.

    `left_out` says of a code and what it is about (NCCL_ALGO, `MTU of eth0`) that it is not to be compared.
    """
    names: list[str] = []
    boots: dict[str, set[str]] = {}
    clocks: list[tuple[float, str]] = []
    seen: dict[_Aspect, _ValuesSeen] = {}
    for number, host in enumerate(snapshots):
        names.append(host.host)
        if isinstance(host.boot_id, str):
            boots.setdefault(host.host, set()).add(host.boot_id)
        if together and isinstance(host.clock.time_s, float):
            clocks.append((host.clock.time_s, host.host))
        for aspect, value in _aspects(host):
            if aspect not in seen:
                seen[aspect] = _ValuesSeen()
            _note(seen[aspect], number, value)
    findings = [
        *_duplicates(boots),
        *_clock_spread(clocks),
        *(
            found
            for aspect, one in seen.items()
            for found in _difference(aspect, one, names)
            if not left_out(*aspect)
        ),
    ]
    return HostComparison(
        hosts=len(names),
        findings=tuple(sorted(findings, key=_order)),
        compared=sum(1 for one in seen.values() if sum(map(len, one.hosts.values())) > 1),
        unjudged=tuple(_unjudged(seen, names)),
    )


def _note(seen: _ValuesSeen, number: int, value: _Value) -> None:
    if isinstance(value, Unknown):
        seen.unknown.append(number)
        seen.reason = value.reason
        return
    hosts = seen.hosts.get(value)
    if hosts is None:
        hosts = seen.hosts[value] = array("I")
    hosts.append(number)


def _order(finding: Finding) -> tuple[int, str, str]:
    return SEVERITIES.index(finding.severity), finding.code, finding.subject.name


def _aspects(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    """Everything of a host that should be the same on all of them."""
    for name, value in host.env.items():
        if not _of_a_rank(name):
            yield ("env-differs", name), value
    for file in host.conf_files:
        yield ("conf-differs", file.path), _content(file.exists, file.text)
    yield from _versions(host)
    yield from _network(host)
    yield from _rdma(host)
    yield from _gpus(host)
    yield from _limits(host)
    yield from _kernel(host)
    yield ("clock-differs", "clock"), _flag(host.clock.synchronised, "synchronised", "not synchronised")


@lru_cache(maxsize=4096)
def _of_a_rank(name: str) -> bool:
    return _OF_A_RANK.search(name) is not None


def _content(exists: bool | Unknown, text: Text) -> _Value:
    if exists is False:
        return "missing"
    return text if isinstance(text, Unknown) else f"sha256 {sha256(text.encode()).hexdigest()[:12]}"


def _flag(flag: bool | Unknown, yes: str, no: str) -> _Value:
    return flag if isinstance(flag, Unknown) else yes if flag else no


def _versions(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    versions, nvidia = host.versions, host.nvidia
    for name, leaf in (("torch", versions.torch), ("NCCL", versions.nccl), ("CUDA of torch", versions.torch_cuda)):
        yield ("version-differs", name), leaf if leaf != "" else "not installed"
    for name, leaf in (
        ("NVIDIA driver", nvidia.driver),
        ("flavour of the NVIDIA driver", nvidia.flavour),
        ("CUDA of the driver", nvidia.cuda),
        ("driver of mlx5", versions.ofed),
    ):
        yield ("driver-differs", name), leaf if leaf != "" else "none"
    if not isinstance(host.plugins, Unknown):
        named = sorted(f"{one.name} {_told(one.library.version)}".strip() for one in host.plugins)
        yield ("version-differs", "plugins of NCCL"), ", ".join(named) or "none"
    for name, leaf in (
        ("kernel", host.kernel.release),
        ("operating system", versions.os),
        ("Python", versions.python),
        ("glibc", versions.glibc),
        ("libfabric", versions.libfabric),
    ):
        yield ("system-differs", name), leaf if leaf != "" else "none"


def _told(leaf: Text) -> str:
    return "" if isinstance(leaf, Unknown) else leaf


def _network(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    interfaces = host.network.interfaces
    if isinstance(interfaces, Unknown):
        yield ("interface-differs", "interfaces"), interfaces
        return
    real = [
        one for one in interfaces if one.virtual is False or one.kind in ("bond", "vlan") or _of_a_container(one)
    ]
    yield ("interface-differs", "interfaces"), ", ".join(sorted(one.name for one in real)) or "none"
    for one in real:
        yield from _interface(one)


def _of_a_container(one: Interface) -> bool:
    """The end of a veth pair that leads out of a network namespace: what a pod has for a network card."""
    return bool(_CARDS.fullmatch(one.name)) and not one.master and one.kind in ("", "veth", "macvlan", "ipvlan")


def _interface(one: Interface) -> Iterator[tuple[_Aspect, _Value]]:
    yield ("interface-differs", f"MTU of {one.name}"), one.mtu if isinstance(one.mtu, Unknown) else str(one.mtu)
    yield ("interface-differs", f"state of {one.name}"), one.operstate
    if not isinstance(one.speed_mbps, Unknown):
        yield ("interface-differs", f"speed of {one.name}"), f"{one.speed_mbps / 1000:g} Gb/s"


def _rdma(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    devices = host.rdma.devices
    if isinstance(devices, Unknown):
        yield ("rdma-differs", "RDMA devices"), devices
        return
    yield ("rdma-differs", "RDMA devices"), ", ".join(one.name for one in devices) or "none"
    yield from _firmware(devices)
    for one in devices:
        for port in () if isinstance(one.ports, Unknown) else one.ports:
            yield from _port(f"{one.name}:{port.number}", port)


def _firmware(devices: tuple[RdmaDevice, ...]) -> Iterator[tuple[_Aspect, _Value]]:
    boards: dict[str, set[str]] = {}
    for one in devices:
        if isinstance(one.fw_ver, str):
            boards.setdefault(_told(one.board_id) or _told(one.driver) or one.name, set()).add(one.fw_ver)
    for board, versions in boards.items():
        yield ("driver-differs", f"firmware of {board}"), ", ".join(sorted(versions))


def _port(name: str, port: RdmaPort) -> Iterator[tuple[_Aspect, _Value]]:
    rate = port.rate_gbps
    yield ("rdma-differs", f"state of {name}"), port.state
    yield ("rdma-differs", f"rate of {name}"), rate if isinstance(rate, Unknown) else f"{rate:g} Gb/s"
    yield ("rdma-differs", f"link layer of {name}"), port.link_layer
    if port.link_layer == "Ethernet" and not isinstance(port.gids, Unknown):
        found = [str(gid.index) for gid in port.gids if gid.type == "RoCE v2" and not gid.gid.startswith("fe80")]
        yield ("rdma-differs", f"indexes of RoCE v2 GIDs of {name}"), ", ".join(found) or "none"
    if port.link_layer == "InfiniBand" and not isinstance(port.pkeys, Unknown):
        yield ("rdma-differs", f"partition keys of {name}"), ", ".join(f"{key:#06x}" for key in port.pkeys)


def _gpus(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    gpus = host.nvidia.gpus
    if isinstance(gpus, Unknown):
        yield ("gpu-differs", "GPUs"), gpus
        return
    names = [_told(one.name) or "?" for one in gpus]
    kinds = sorted(set(names))
    yield ("gpu-differs", "GPUs"), ", ".join(f"{names.count(kind)} x {kind}" for kind in kinds) or "none"
    for title, leaves in (
        ("VBIOS of GPUs", {one.vbios for one in gpus}),
        ("fabric state of GPUs", {one.fabric_state for one in gpus}),
    ):
        told = sorted(leaf for leaf in leaves if isinstance(leaf, str))
        if told:
            yield ("gpu-differs", title), ", ".join(told)
    links = [one.nvlinks for one in gpus if not isinstance(one.nvlinks, Unknown)]
    if links:
        active = [sum(link.active for link in each) for each in links]
        yield ("gpu-differs", "active NVLinks of each GPU"), ", ".join(map(str, active))
    modules = host.kernel.modules
    if gpus and not isinstance(modules, Unknown):
        loaded = any(module.name == "nvidia_peermem" for module in modules)
        yield ("gpu-differs", "nvidia_peermem"), "loaded" if loaded else "not loaded"


def _limits(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
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
        yield ("limit-differs", name), _limit(leaf)
    cores = limits.cpu_cores
    if not isinstance(cores, Unknown):
        yield ("limit-differs", "processors of the cgroup"), "unlimited" if cores is None else f"{cores:g}"


def _limit(limit: Limit) -> _Value:
    return limit if isinstance(limit, Unknown) else "unlimited" if limit is None else str(limit)


def _kernel(host: HostFacts) -> Iterator[tuple[_Aspect, _Value]]:
    for setting in host.kernel.sysctls:
        if setting.name in _SYSCTLS:
            value = setting.value
            yield (
                ("kernel-differs", setting.name),
                value if isinstance(value, Unknown) else " ".join(value.split()),
            )
    if isinstance(host.kernel.cmdline, str):
        words = [word for word in host.kernel.cmdline.split() if "iommu" in word or word.startswith("pci=")]
        yield ("kernel-differs", "IOMMU on the command line"), " ".join(sorted(words)) or "nothing"
    yield ("kernel-differs", "clock source"), host.kernel.clocksource


def _difference(aspect: _Aspect, seen: _ValuesSeen, names: list[str]) -> Iterator[Finding]:
    code, what = aspect
    by_value = {value: {names[number] for number in hosts} for value, hosts in seen.hosts.items()}
    if code == "env-differs":
        _add_unset(by_value, seen, names)
    if len(by_value) < 2:
        return
    ranked = sorted(by_value.items(), key=lambda item: (-len(item[1]), item[0]))
    norm, most = ranked[0]
    minority = set().union(*(hosts for _, hosts in ranked[1:])) - (
        most if len(most) > len(ranked[1][1]) else set()
    )
    tied = len(ranked[1][1]) == len(most)
    kind = KINDS[code]
    yield kind.finding(
        what if kind.subject != "host" else fold(minority),
        _message(what, norm, most, minority, ranked, tied),
        tuple(_shown(value, hosts) for value, hosts in ranked[:_MOST_VALUES]) + _more(ranked, seen, names),
    )


def _add_unset(by_value: dict[str, set[str]], seen: _ValuesSeen, names: list[str]) -> None:
    """A snapshot has no line for a variable that is not set."""
    having = {number for hosts in seen.hosts.values() for number in hosts}
    if len(having) < len(names):
        by_value[UNSET] = {name for number, name in enumerate(names) if number not in having}


def _message(
    what: str, norm: str, most: set[str], minority: set[str], ranked: list[tuple[str, set[str]]], tied: bool
) -> str:
    if tied:
        return f"{what} differs between hosts: {len(ranked)} values, and none is that of most"
    if len(ranked) == 2:
        return f"{what} is {_short(ranked[1][0])} on {fold(minority)}, and {_short(norm)} on the other {len(most)}"
    return f"{what} is not {_short(norm)} on {fold(minority)}, as on the other {len(most)}"


def _short(value: str) -> str:
    text = value if len(value) <= 80 else value[:77] + "..."
    return text or "empty"


def _shown(value: str, hosts: set[str]) -> str:
    return f"{_short(value)}: {fold(hosts)} ({len(hosts)})"


def _more(ranked: list[tuple[str, set[str]]], seen: _ValuesSeen, names: list[str]) -> tuple[str, ...]:
    lines = []
    if len(ranked) > _MOST_VALUES:
        rest = ranked[_MOST_VALUES:]
        lines.append(f"{len(rest)} more values: {fold(set().union(*(hosts for _, hosts in rest)))}")
    if seen.unknown:
        lines.append(f"not known: {fold({names[number] for number in seen.unknown})}: {seen.reason}")
    return tuple(lines)


def _unjudged(seen: dict[_Aspect, _ValuesSeen], names: list[str]) -> Iterator[Unjudged]:
    for (_, what), one in seen.items():
        if one.unknown:
            hosts = sorted({names[number] for number in one.unknown})
            yield Unjudged(what=what, hosts=tuple(hosts), reason=one.reason)


def _duplicates(boots: dict[str, set[str]]) -> Iterator[Finding]:
    """Containers of one host share its boot id; two hosts of one name do not."""
    names = [name for name, ids in boots.items() if len(ids) > 1]
    if names:
        kind = KINDS["name-duplicate"]
        yield kind.finding(
            fold(names),
            f"{fold(names)} is the name of more than one host",
            tuple(f"{name}: {len(boots[name])} boot ids" for name in names[:_MOST_VALUES]),
        )


def _clock_spread(clocks: list[tuple[float, str]]) -> Iterator[Finding]:
    if len(clocks) < 2:
        return
    middle = sorted(clocks)[len(clocks) // 2][0]
    off = {name: time - middle for time, name in clocks if abs(time - middle) > _CLOCK_S}
    if off:
        kind = KINDS["clock-differs"]
        yield kind.finding(
            fold(off),
            f"the clock of {fold(off)} is more than {_CLOCK_S:g} s from that of most",
            tuple(f"{name}: {seconds:+.0f} s" for name, seconds in sorted(off.items())[:_MOST_VALUES]),
        )
