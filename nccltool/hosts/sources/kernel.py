"""The running kernel: release, command line, modules, sysctls, clock source."""

import os
import re
from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Kernel, KernelModule, Setting, Text
from nccltool.hosts.sources.base import Source, Tree

SYSCTLS = (
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


def read(tree: Tree, env: Mapping[str, str]) -> Kernel:
    """What the kernel says about itself."""
    del env
    hugepage = tree.text("/sys/kernel/mm/transparent_hugepage/enabled")
    return Kernel(
        release=tree.text("/proc/sys/kernel/osrelease"),
        version=tree.text("/proc/sys/kernel/version"),
        arch=_arch(tree),
        cmdline=tree.text("/proc/cmdline"),
        modules=_modules(tree),
        sysctls=sysctls(tree),
        clocksource=tree.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        transparent_hugepage=hugepage if isinstance(hugepage, Unknown) else _chosen(hugepage),
    )


def sysctls(tree: Tree) -> tuple[Setting, ...]:
    """Those that matter, each with its own reason when it cannot be read."""
    return tuple(Setting(name=name, value=tree.text(_path(name))) for name in SYSCTLS)


def _path(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")


def _chosen(text: str) -> str:
    """`always [madvise] never` -> madvise."""
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else text


def _arch(tree: Tree) -> Text:
    if tree.live:
        return os.uname().machine
    told = tree.text("/proc/sys/kernel/arch")  # Linux 6.1
    if isinstance(told, str):
        return told
    info = tree.exact("/proc/cpuinfo")
    if isinstance(info, Unknown):
        return info
    marks = {"vendor_id": "x86_64", "CPU implementer": "aarch64"}
    return next((arch for mark, arch in marks.items() if mark in info), Unknown("/proc/cpuinfo does not tell"))


def _modules(tree: Tree) -> tuple[KernelModule, ...] | Unknown:
    """/sys/module also has what is built in; a container may hide it, /proc/modules it cannot."""
    folder, lines = tree.names("/sys/module"), tree.lines("/proc/modules")
    if isinstance(folder, Unknown) and isinstance(lines, Unknown):
        return folder
    names = set(() if isinstance(folder, Unknown) else folder)
    names.update(() if isinstance(lines, Unknown) else (line.split(" ")[0] for line in lines))
    return tuple(_module(tree, name) for name in sorted(names) if _MODULES.fullmatch(name))


def _module(tree: Tree, name: str) -> KernelModule:
    version = tree.text(f"/sys/module/{name}/version")
    return KernelModule(name=name, version="" if isinstance(version, Unknown) else version)


def boot_id(tree: Tree, env: Mapping[str, str]) -> Text:
    """The same for containers of one host."""
    del env
    return tree.text("/proc/sys/kernel/random/boot_id")


SOURCES = (
    Source.quick("kernel", "kernel", read),
    Source.quick("boot_id", "boot_id", boot_id),
)
