"""Cases of nccltool/doctor/rules/machine/hardware_links.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Amd, AmdGpu, Nvidia, Pci, PciDevice, Setting, Versions
from tests.doctor.rules.base import host, of
from tests.doctor.rules.parts import METAL, VM

_GPU, _NIC = 0x030200, 0x020000


def _devices(code: int, *links: tuple[int, float], **given: Any) -> Pci:
    """Devices of one kind with (lanes, GT/s); each could have 16 lanes at 32 GT/s."""
    vendor = "0x10de" if code == _GPU else "0x15b3"
    common = {"class_code": code, "vendor": vendor, "device": "0x1", "max_link_width": 16, "max_link_gts": 32.0}
    found = []
    for number, (width, gts) in enumerate(links):
        facts = {"address": f"0000:0{number}:00.0", "link_width": width, "link_gts": gts, **common, **given}
        found.append(PciDevice(**facts))
    return Pci(devices=tuple(found))


def _peers(*counts: int | Unknown) -> Amd:
    return Amd(gpus=tuple(AmdGpu(pci=f"0000:0{number}:00.0", xgmi_peers=one) for number, one in enumerate(counts)))


def _driver(value: str) -> Nvidia:
    return Nvidia(params=(Setting(name="NvLinkDisable", value=value),))


CASES = (
    of(
        "HOST011",
        fires=[
            host(pci=_devices(_GPU, (16, 32), (8, 32)), cpu=METAL),
            host(pci=_devices(_NIC, (16, 32), (16, 16)), cpu=METAL),
        ],
        silent=[
            host(pci=_devices(_GPU, (16, 32), (16, 2.5)), cpu=METAL),
            host(pci=_devices(_GPU, (8, 32), (8, 32)), cpu=METAL),
            host(pci=_devices(_GPU, (8, 32)), cpu=METAL),
            host(pci=_devices(_GPU, (16, 32), (8, 32), max_link_width=8), cpu=METAL),
            host(pci=_devices(_GPU, (16, 32), (8, 32)), cpu=VM),
            host(pci=_devices(_NIC, (16, 32), (8, 32), virtual_function=True), cpu=METAL),
        ],
        unknown=[host()],
    ),
    of(
        "HOST012",
        fires=[host(amd=_peers(7, 7, 6))],
        silent=[host(amd=_peers(7, 7)), host(amd=_peers()), host(amd=_peers(7, Unknown("not read")))],
        unknown=[host()],
    ),
    of(
        "NV020",
        fires=[host(nvidia=_driver("1"))],
        silent=[host(nvidia=_driver("0")), host(nvidia=Nvidia(params=()))],
        unknown=[host()],
    ),
    of(
        "P2P033",
        fires=[host(amd=_peers(0, 0), versions=Versions(torch_hip="6.0.32830-d62f6a171"))],
        silent=[
            host({"HSA_FORCE_FINE_GRAIN_PCIE": "1"}, amd=_peers(0, 0), versions=Versions(torch_hip="6.0.32830")),
            host(amd=_peers(0, 0), versions=Versions(torch_hip="7.0.1")),
            host(amd=_peers(7, 7), versions=Versions(torch_hip="6.0.32830")),
            host(amd=_peers(0, Unknown("io_links cannot be read")), versions=Versions(torch_hip="6.0.32830")),
            host(amd=_peers(0), versions=Versions(torch_hip="6.0.32830")),
        ],
        unknown=[host(amd=_peers(0, 0))],
    ),
)
