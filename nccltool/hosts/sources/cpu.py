"""Processors, NUMA nodes, memory, and whether a hypervisor is below."""

from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Cpu, Flag, Text, Texts
from nccltool.hosts.sources.base import Source, Tree

_CPUS = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"


def read(tree: Tree, env: Mapping[str, str]) -> Cpu:
    """Processors and memory."""
    del env
    info, memory = tree.exact("/proc/cpuinfo"), tree.lines("/proc/meminfo")
    return Cpu(
        model=_first(info, "model name", "CPU part"),
        vendor=_first(info, "vendor_id", "CPU implementer"),
        hypervisor=_hypervisor(tree, info),
        online=tree.text(f"{_CPUS}/online"),
        allowed=_allowed(tree),
        numa_nodes=_numa_nodes(tree),
        governors=_governors(tree),
        memory_bytes=_kilobytes(memory, "MemTotal"),
        available_bytes=_kilobytes(memory, "MemAvailable"),
        swap_bytes=_kilobytes(memory, "SwapTotal"),
    )


def _first(info: Text, *names: str) -> Text:
    """The value of the first line with one of these names (x86, ARM)."""
    if isinstance(info, Unknown):
        return info
    for name in names:
        at = info.find(name)
        if at >= 0:
            return info[at : info.find("\n", at)].partition(":")[2].strip()
    return Unknown(f"/proc/cpuinfo has no {' or '.join(names)}")


def _hypervisor(tree: Tree, info: Text) -> Flag:
    """x86 has a flag. On ARM only signs of one count; that there are none proves nothing."""
    flags = _first(info, "flags")
    if isinstance(flags, str):
        return "hypervisor" in flags.split()
    if tree.exists("/sys/hypervisor/type") is True:
        return True
    vendor = tree.text("/sys/class/dmi/id/sys_vendor")
    if isinstance(vendor, str) and vendor in ("QEMU", "Amazon EC2", "Google", "Xen", "VMware, Inc."):
        return True
    return Unknown("this processor has no flag for it")


def _allowed(tree: Tree) -> Text:
    lines = tree.lines("/proc/self/status")
    if isinstance(lines, Unknown):
        return lines
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("Cpus_allowed_list:")]
    return found[0] if found else Unknown("/proc/self/status has no Cpus_allowed_list")


def _numa_nodes(tree: Tree) -> Texts:
    names = tree.names(_NODES)
    if isinstance(names, Unknown):
        return names
    lists = [tree.text(f"{_NODES}/{name}/cpulist") for name in names if name[4:].isdigit()]
    unknown = [one for one in lists if isinstance(one, Unknown)]
    return unknown[0] if unknown else tuple(one for one in lists if isinstance(one, str))


def _governors(tree: Tree) -> Texts:
    """By policy, of which there are as many as cores: all of them, for one core off the rule slows a whole job."""
    folder = f"{_CPUS}/cpufreq"
    names = tree.names(folder, absent=())
    if isinstance(names, Unknown):
        return names
    words = {tree.text(f"{folder}/{name}/scaling_governor") for name in names if name.startswith("policy")}
    return tuple(sorted(word for word in words if isinstance(word, str)))


def _kilobytes(memory: Texts, name: str) -> Count:
    if isinstance(memory, Unknown):
        return memory
    rows = [line.split() for line in memory if line.startswith(name + ":")]
    found = [int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()]
    return found[0] * 1024 if found else Unknown(f"/proc/meminfo has no {name}")


SOURCES = (Source.quick("cpu", "cpu", read),)
