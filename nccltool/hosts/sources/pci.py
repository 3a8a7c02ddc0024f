"""The tree of PCI devices: GPUs, NICs, switches and the bridges above them; ACS, ATS and the IOMMU."""

import re
import struct

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Pci, PciDevice
from nccltool.hosts.facts.devices import ACCELERATOR, DISPLAY, NETWORK
from nccltool.hosts.facts.leaves import NotKnown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import Source, Tree

_DEVICES = "/sys/bus/pci/devices"
_GROUPS = "/sys/kernel/iommu_groups"
_CLASSES = (NETWORK, DISPLAY, ACCELERATOR)
_BRIDGES = (0x0604, 0x0680)
"""PCI-to-PCI bridges; other bridges, which is what an NVSwitch is."""
_ACS, _ATS = 0x000D, 0x000F
_SPEED = re.compile(r"\d{1,6}(?:\.\d{1,6})?(?=\s|$)", re.ASCII)
_EXTENDED = 0x100
"""Where the list of extended capabilities begins; without root the kernel shows less than that."""


def read(tree: Tree) -> Pci:
    devices = _devices(tree)
    return Pci(
        devices=devices,
        iommu_groups=then(tree.names(_GROUPS, absent=()), len),
        iommus=tree.names("/sys/class/iommu", absent=()),
        iommu_types=_types(tree, devices),
    )


@or_unknown
def _devices(tree: Tree) -> tuple[PciDevice, ...]:
    found = [(name, tree.number(f"{_DEVICES}/{name}/class", 16)) for name in known(tree.names(_DEVICES))]
    return tuple(
        _device(tree, name, code)
        for name, code in found
        if isinstance(code, int) and (code >> 16 in _CLASSES or code >> 8 in _BRIDGES)
    )


def _device(tree: Tree, address: str, code: int) -> PciDevice:
    folder = f"{_DEVICES}/{address}"
    group = f"{folder}/iommu_group"
    config = tree.raw(f"{folder}/config")
    ats = _control(config, address, _ATS)
    return PciDevice(
        address=address,
        class_code=code,
        vendor=tree.text(f"{folder}/vendor"),
        device=tree.text(f"{folder}/device"),
        driver=tree.link_name(f"{folder}/driver"),
        numa_node=tree.number(f"{folder}/numa_node"),
        local_cpus=tree.text(f"{folder}/local_cpulist"),
        link_gts=_speed(tree, f"{folder}/current_link_speed"),
        link_width=tree.number(f"{folder}/current_link_width"),
        max_link_gts=_speed(tree, f"{folder}/max_link_speed"),
        max_link_width=tree.number(f"{folder}/max_link_width"),
        upstream=_upstream(tree, folder, address),
        acs_control=_control(config, address, _ACS),
        ats_enabled=None if ats is None else then(ats, lambda word: bool(word & 0x8000)),
        iommu_group=then(tree.exists(group), lambda has: tree.link_name(group) if has else ""),
        virtual_function=tree.exists(f"{folder}/physfn"),
        hidden_config=then(config, lambda space: len(space) <= _EXTENDED),
    )


@or_unknown
def _speed(tree: Tree, path: str) -> float:
    """`32.0 GT/s PCIe` -> 32.0."""
    text = known(tree.text(path))
    found = _SPEED.match(text)
    if found is None:
        raise NotKnown(f"link speed is {text[:40]!r}")
    return float(found[0])


def _upstream(tree: Tree, folder: str, address: str) -> tuple[str, ...]:
    """The link leads through the bridges: ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:18:00.0."""
    parts = (or_none(tree.link(folder)) or "").split("/")
    return tuple(part for part in parts if part.count(":") == 2 and part != address)


@or_unknown
def _control(config: bytes | Unknown, address: str, capability: int) -> int | None:
    """The control word of an extended capability; None = the device has it not."""
    space = known(config)
    if len(space) == _EXTENDED:  # conventional PCI: there is no extended configuration space
        return None
    if len(space) < 4096:
        raise NotKnown(f"{_DEVICES}/{address}/config shows {len(space)} of 4096 bytes; reading all needs root")
    at, steps = _EXTENDED, 0
    while at >= _EXTENDED and at + 8 <= len(space) and steps < 480:  # as many as fit; a circle ends here too
        header, word = struct.unpack_from("<IxxH", space, at)
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == capability:
            return int(word)
        at, steps = header >> 20 & 0xFFC, steps + 1
    return None


@or_unknown
def _types(tree: Tree, devices: tuple[PciDevice, ...] | Unknown) -> tuple[str, ...]:
    groups = {one.iommu_group for one in known(devices) if not one.is_bridge}
    named = [group for group in groups if isinstance(group, str) and group]
    return tuple(sorted({known(tree.text(f"{_GROUPS}/{group}/type")) for group in named}))


SOURCES = (Source.quick("pci", "pci", read),)
