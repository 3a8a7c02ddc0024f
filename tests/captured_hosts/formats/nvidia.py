"""NVIDIA's driver: /proc/driver/nvidia and its device files.

The files of a GPU with instances (MIG) are those of NVIDIA's MIG User Guide, "Device Nodes and Capabilities".
"""

from tests.captured_hosts.formats.pci import gpu_address
from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Kind

_PROC = "/proc/driver/nvidia"
_FIRST_INSTANCE_MINOR = 12
"""Of gpu0/gi1/access in /proc/driver/nvidia-caps/mig-minors; that of gi1/ci0 is the next one."""
_MINORS_OF_AN_INSTANCE = 9


def write(tree: TreeWriter, kind: Kind) -> None:
    _driver(tree, kind)
    for number in range(kind.gpus):
        _listed(tree, kind, number)
    given = range(kind.gpus) if kind.given is None else kind.given
    names = [f"nvidia{number}" for number in given]
    names += ["nvidiactl", "nvidia-uvm", *(["gdrdrv"] if "gdrdrv" in kind.modules else [])]
    names += [f"nvidia-caps-imex-channels/{channel}" for channel in kind.imex_channels]
    for name in names:
        tree.device(f"/dev/{name}")
    for instance in kind.mig_instances:
        _instance(tree, instance)


def _driver(tree: TreeWriter, kind: Kind) -> None:
    name = f"NVIDIA UNIX {kind.arch} Kernel Module"
    if kind.flavour == "open":
        name = f"NVIDIA UNIX Open Kernel Module for {kind.arch}"
    version = f"NVRM version: {name}  {kind.driver}  Release Build  (dvs-builder)  Mon"
    tree.lines(f"{_PROC}/version", [version, "GCC version:  gcc version 13.3.0"])
    params = ("ResmanDebugLevel: 4294967295", "EnableStreamMemOPs: 0", 'RegistryDwords: ""')
    tree.lines(f"{_PROC}/params", [*params, "GrdmaPciTopoCheckOverride: 0"])


def _listed(tree: TreeWriter, kind: Kind, number: int) -> None:
    rows = {
        "Model": kind.gpu,
        "IRQ": "321",
        "GPU UUID": kind.uuid(number),
        "Video BIOS": "96.00.bc.00.01",
        "Bus Type": "PCIe",
        "Device Minor": str(number),
        "GPU Firmware": kind.driver,
    }
    path = f"{_PROC}/gpus/{gpu_address(number)}/information"
    tree.lines(path, (f"{title + ':':<17} {value}" for title, value in rows.items()))


def _instance(tree: TreeWriter, number: int) -> None:
    """A GPU instance of the first GPU, with one compute instance in it."""
    folder = f"{_PROC}/capabilities/gpu0/mig/gi{number}"
    first = _FIRST_INSTANCE_MINOR + (number - 1) * _MINORS_OF_AN_INSTANCE
    for minor, path in ((first, f"{folder}/access"), (first + 1, f"{folder}/ci0/access")):
        tree.lines(path, (f"DeviceFileMinor: {minor}", "DeviceFileMode: 292", "DeviceFileModify: 1"))
        tree.device(f"/dev/nvidia-caps/nvidia-cap{minor}")
