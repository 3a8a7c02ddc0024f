"""The machine: processors, NUMA nodes, memory, whether a hypervisor is below, and what the firmware says."""

from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cloud, Cpu, Text
from nccltool.hosts.facts.leaves import Flag, NotKnown, all_unknown, known, or_unknown
from nccltool.hosts.sources.base import Source, Tree

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


def cpu(tree: Tree) -> Cpu:
    """Processors and memory."""
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
    return Unknown("this processor has no flag for it")


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
        return all_unknown(Cloud, f"{_DMI} does not exist: no firmware tells")
    told = {name: tree.text(f"{_DMI}/{name}") for name in _FIRMWARE}
    return Cloud(provider=_provider(told), **told)


def _provider(told: Mapping[str, Text]) -> str | Unknown | None:
    named = (cloud for (name, mark), cloud in _CLOUDS.items() if told[name] == mark)
    unknown = (leaf for leaf in (told[name] for name, _ in _CLOUDS) if isinstance(leaf, Unknown))
    return next(named, None) or next(unknown, None)


SOURCES = (Source.quick("cpu", "cpu", cpu), Source.quick("cloud", "cloud", cloud))
