"""The machine and its kernel: processors, memory, firmware; release, modules, sysctls, clock."""

import ctypes
import os
import re
import time
from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cloud, Cpu, Kernel, KernelClock, KernelModule, Setting, Text
from nccltool.hosts.facts.leaves import Flag, NotKnown, all_unknown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_CPUS = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"
_DMI = "/sys/class/dmi/id"
_FIRMWARE = (
    "sys_vendor", "product_name", "product_version", "board_name", "chassis_asset_tag", "bios_vendor",
    "bios_version",
)  # fmt: skip
_CLOUDS = {
    ("sys_vendor", "Amazon EC2"): "aws",
    ("product_name", "Google Compute Engine"): "gcp",
    ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"): "azure",
    ("chassis_asset_tag", "OracleCloud.com"): "oci",
}
"""By what all of their machines say."""
_SYSCTLS = (
    "kernel.numa_balancing", "kernel.perf_event_paranoid", "kernel.shmmax", "kernel.shmmni", "kernel.pid_max",
    "kernel.threads-max", "kernel.yama.ptrace_scope", "kernel.unprivileged_userns_clone", "vm.nr_hugepages",
    "vm.max_map_count", "vm.swappiness", "vm.zone_reclaim_mode", "vm.overcommit_memory", "fs.file-max",
    "fs.nr_open", "net.core.somaxconn", "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default",
    "net.core.wmem_default", "net.core.netdev_max_backlog", "net.core.default_qdisc", "net.core.busy_poll",
    "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem", "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_syn_retries", "net.ipv4.tcp_retries2", "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter", "net.ipv4.conf.all.arp_ignore",
    "net.ipv4.conf.all.arp_announce", "net.ipv4.neigh.default.gc_thresh3", "net.ipv6.conf.all.disable_ipv6",
)  # fmt: skip
_MODULES = re.compile(
    r"nvidia.*|nv_peer_mem|gdrdrv|nvidia_fs|ib_.*|rdma_.*|iw_.*|mlx[45]_.*|mlxfw|mlx_compat|efa|ena|gve|idpf|irdma|"
    r"bnxt_(en|re)|erdma|mana(_ib)?|cxi_.*|hfi1|qedr|ice|virtio_net|hv_netvsc|bonding|amdgpu|knem|xpmem|vfio_pci|"
    r"peermem|nouveau|tcp_(bbr|dctcp)"
)


def cpu(tree: Tree) -> Cpu:
    info = tree.exact("/proc/cpuinfo")
    return Cpu(
        model=_first(info, "model name", "CPU part"),
        vendor=_first(info, "vendor_id", "CPU implementer"),
        hypervisor=_hypervisor(tree, info),
        online=tree.text(f"{_CPUS}/online"),
        allowed=tree.row("/proc/self/status", "Cpus_allowed_list"),
        numa_nodes=_numa_nodes(tree),
        governors=_governors(tree),
        memory_bytes=tree.meminfo("MemTotal"),
        available_bytes=tree.meminfo("MemAvailable"),
        swap_bytes=tree.meminfo("SwapTotal"),
    )


@or_unknown
def _first(info: Text, *names: str) -> str:
    """The value of the first line with one of these names (x86, ARM)."""
    text = known(info)
    for name in names:
        at = text.find(name)
        if at >= 0:
            return text[at : text.find("\n", at)].partition(":")[2].strip()
    raise NotKnown(f"/proc/cpuinfo has no {' or '.join(names)}")


def _hypervisor(tree: Tree, info: Text) -> Flag:
    """x86 has a flag. On ARM only signs of one count; that there are none proves nothing."""
    flags = _first(info, "flags")
    if isinstance(flags, str):
        return "hypervisor" in flags.split()
    vendors = ("QEMU", "Amazon EC2", "Google", "Xen", "VMware, Inc.")
    if tree.exists("/sys/hypervisor/type") is True or tree.text(f"{_DMI}/sys_vendor") in vendors:
        return True
    return Unknown("this CPU has no flag for it")


@or_unknown
def _numa_nodes(tree: Tree) -> tuple[str, ...]:
    nodes = [name for name in known(tree.names(_NODES)) if name[4:].isdigit()]
    return tuple(known(tree.text(f"{_NODES}/{node}/cpulist")) for node in nodes)


@or_unknown
def _governors(tree: Tree) -> tuple[str, ...]:
    """By policy, of which there are as many as cores: all of them, for one core off the rule slows a whole job."""
    folder = f"{_CPUS}/cpufreq"
    policies = [name for name in known(tree.names(folder, absent=())) if name.startswith("policy")]
    words = {tree.text(f"{folder}/{policy}/scaling_governor") for policy in policies}
    return tuple(sorted(word for word in words if isinstance(word, str)))


def cloud(tree: Tree) -> Cloud:
    """The DMI strings that every user may read, and the cloud that they tell: no metadata service is called."""
    if tree.exists(_DMI) is False:
        return all_unknown(Cloud, f"no DMI data in {_DMI}")
    told = {name: tree.text(f"{_DMI}/{name}") for name in _FIRMWARE}
    return Cloud(provider=_provider(told), **told)


def _provider(told: Mapping[str, Text]) -> str | Unknown | None:
    named = (cloud for (name, mark), cloud in _CLOUDS.items() if told[name] == mark)
    unknown = (leaf for leaf in (told[name] for name, _ in _CLOUDS) if isinstance(leaf, Unknown))
    return next(named, None) or next(unknown, None)


def kernel(tree: Tree) -> Kernel:
    """What the kernel says about itself; each sysctl that cannot be read has its own reason."""
    return Kernel(
        release=tree.text("/proc/sys/kernel/osrelease"),
        version=tree.text("/proc/sys/kernel/version"),
        arch=_arch(tree),
        cmdline=tree.text("/proc/cmdline"),
        modules=_modules(tree),
        sysctls=tuple(
            Setting(name=name, value=tree.text(f"/proc/sys/{name.replace('.', '/')}")) for name in _SYSCTLS
        ),
        clocksource=tree.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        transparent_hugepage=then(  # `always [madvise] never` -> madvise
            tree.text("/sys/kernel/mm/transparent_hugepage/enabled"),
            lambda text: re.sub(r"(?s).*?\[(\w+)\].*", r"\1", text),
        ),
    )


@or_unknown
def _arch(tree: Tree) -> Text:
    if tree.live:
        return os.uname().machine
    told = tree.text("/proc/sys/kernel/arch")  # Linux 6.1
    if isinstance(told, str):
        return told
    info, marks = known(tree.exact("/proc/cpuinfo")), {"vendor_id": "x86_64", "CPU implementer": "aarch64"}
    return next((arch for mark, arch in marks.items() if mark in info), Unknown("not in /proc/cpuinfo"))


def _modules(tree: Tree) -> tuple[KernelModule, ...] | Unknown:
    """/sys/module also has what is built in; a container may hide it, /proc/modules it cannot."""
    folder, lines = tree.names("/sys/module"), tree.lines("/proc/modules")
    if isinstance(folder, Unknown) and isinstance(lines, Unknown):
        return folder
    names = {*(or_none(folder) or ()), *(line.split(" ")[0] for line in or_none(lines) or ())}
    ours = sorted(name for name in names if _MODULES.fullmatch(name))
    versions = ((name, tree.text(f"/sys/module/{name}/version")) for name in ours)
    return tuple(KernelModule(name=name, version=or_none(version) or "") for name, version in versions)


_TIME_ERROR = 5
_STA_UNSYNC, _STA_NANO = 0x0040, 0x2000


class _Timex(ctypes.Structure):
    """struct timex of the kernel; what is behind `jitter` is only room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )


def clock(tree: Tree) -> KernelClock:
    """The clock, as the kernel disciplines it. adjtimex without modes changes nothing and needs no right."""
    if not tree.live:
        return all_unknown(KernelClock, CAPTURED)
    state = _Timex()
    answer = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state))
    if answer < 0:
        return all_unknown(KernelClock, f"adjtimex failed: {os.strerror(ctypes.get_errno())}", time_s=time.time())
    return KernelClock(
        time_s=time.time(),
        synchronised=answer != _TIME_ERROR and not state.status & _STA_UNSYNC,
        max_error_s=state.maxerror / 1e6,
        offset_s=state.offset / (1e9 if state.status & _STA_NANO else 1e6),
    )


SOURCES = (
    Source.quick("cpu", "cpu", cpu),
    Source.quick("cloud", "cloud", cloud),
    Source.quick("kernel", "kernel", kernel),
    Source.quick("boot_id", "boot_id", lambda tree: tree.text("/proc/sys/kernel/random/boot_id")),
    Source.quick("clock", "clock", clock),
)
