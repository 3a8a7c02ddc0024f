"""The tree of PCI devices: GPUs, NICs, switches and the bridges above them; ACS, ATS and the IOMMU."""

import struct
from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Limit, Number, Pci, PciDevice, Text, Texts
from nccltool.hosts.sources.base import Source, Tree

_DEVICES = "/sys/bus/pci/devices"
_GROUPS = "/sys/kernel/iommu_groups"
_CLASSES = (0x02, 0x03, 0x12)
"""Network controllers, displays, accelerators."""
_BRIDGES = (0x0604, 0x0680)
"""PCI-to-PCI bridges; other bridges, which is what an NVSwitch is."""
_ACS, _ATS = 0x000D, 0x000F
_EXTENDED = 0x100
"""Where the list of extended capabilities begins; without root the kernel shows less than that."""


def read(tree: Tree, env: Mapping[str, str]) -> Pci:
    """The devices that matter, and the IOMMU."""
    del env
    names = tree.names(_DEVICES)
    groups = tree.names(_GROUPS, absent=())
    if isinstance(names, Unknown):
        devices: tuple[PciDevice, ...] | Unknown = names
    else:
        found = [(name, tree.number(f"{_DEVICES}/{name}/class", 16)) for name in names]
        devices = tuple(_device(tree, name, code) for name, code in found if _matters(code))
    return Pci(
        devices=devices,
        iommu_groups=groups if isinstance(groups, Unknown) else len(groups),
        iommus=tree.names("/sys/class/iommu", absent=()),
        iommu_types=_types(tree, devices),
    )


def _matters(code: Count) -> bool:
    return isinstance(code, int) and (code >> 16 in _CLASSES or code >> 8 in _BRIDGES)


def _device(tree: Tree, address: str, code: Count) -> PciDevice:
    folder = f"{_DEVICES}/{address}"
    config = tree.raw(f"{folder}/config")
    return PciDevice(
        address=address,
        class_code=code,
        vendor=tree.text(f"{folder}/vendor"),
        device=tree.text(f"{folder}/device"),
        driver=tree.link_name(f"{folder}/driver"),
        numa_node=tree.number(f"{folder}/numa_node"),
        local_cpus=tree.text(f"{folder}/local_cpulist"),
        link_gts=_speed(tree.text(f"{folder}/current_link_speed")),
        link_width=tree.number(f"{folder}/current_link_width"),
        max_link_gts=_speed(tree.text(f"{folder}/max_link_speed")),
        max_link_width=tree.number(f"{folder}/max_link_width"),
        upstream=_upstream(tree, folder, address),
        acs_control=_control(config, address, _ACS),
        ats_enabled=_enabled(_control(config, address, _ATS)),
        iommu_group=_group(tree, folder),
        virtual_function=tree.exists(f"{folder}/physfn"),
        hidden_config=config if isinstance(config, Unknown) else len(config) <= _EXTENDED,
    )


def _speed(text: Text) -> Number:
    """`32.0 GT/s PCIe` -> 32.0."""
    if isinstance(text, Unknown):
        return text
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return Unknown(f"its link speed is {text[:40]!r}")


def _upstream(tree: Tree, folder: str, address: str) -> tuple[str, ...]:
    """The link leads through the bridges: ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:18:00.0."""
    target = tree.link(folder)
    parts = [] if isinstance(target, Unknown) else target.split("/")
    return tuple(part for part in parts if part.count(":") == 2 and part != address)


def _control(config: bytes | Unknown, address: str, capability: int) -> Limit:
    """The control word of an extended capability; None = the device has it not."""
    if isinstance(config, Unknown):
        return config
    if len(config) < 4096:
        if len(config) == _EXTENDED:  # conventional PCI: there is no extended configuration space
            return None
        return Unknown(f"{_DEVICES}/{address}/config shows {len(config)} of 4096 bytes: that needs root")
    at, steps = _EXTENDED, 0
    while at >= _EXTENDED and at + 8 <= len(config) and steps < 480:  # as many as fit; a circle ends here too
        (header,) = struct.unpack_from("<I", config, at)
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == capability:
            return int(struct.unpack_from("<H", config, at + 6)[0])
        at, steps = header >> 20 & 0xFFC, steps + 1
    return None


def _enabled(control: Limit) -> bool | Unknown | None:
    return control if control is None or isinstance(control, Unknown) else bool(control & 0x8000)


def _group(tree: Tree, folder: str) -> Text:
    there = tree.exists(f"{folder}/iommu_group")
    if there is not True:
        return there if isinstance(there, Unknown) else ""
    return tree.link_name(f"{folder}/iommu_group")


def _types(tree: Tree, devices: tuple[PciDevice, ...] | Unknown) -> Texts:
    if isinstance(devices, Unknown):
        return devices
    groups = {one.iommu_group for one in devices if not one.is_bridge and isinstance(one.iommu_group, str)}
    types = {tree.text(f"{_GROUPS}/{group}/type") for group in groups if group}
    unknown = [one for one in types if isinstance(one, Unknown)]
    return unknown[0] if unknown else tuple(sorted(one for one in types if isinstance(one, str)))


SOURCES = (Source.quick("pci", "pci", read),)
