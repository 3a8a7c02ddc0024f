"""Links inside the host that are narrower than they should be: PCIe, Infinity Fabric, NVLink switched off."""

import re
from collections import defaultdict

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, listed, rule
from nccltool.hosts.facts import PciDevice, or_none
from nccltool.hosts.facts.devices import NETWORK


@rule("HOST011", "warning", covers=(), needs=("pci", "cpu"))
def narrow_pcie_link(host: JudgedHost) -> Results:
    """A GPU or adapter has fewer PCIe lanes than others of its kind on this host, or an adapter a slower link.

    Why: Its traffic is limited to a half or less, and each collective waits for the slowest rank. A badly seated
    card, a riser, or a failed lane is the usual cause. The speed of an idle GPU is not compared: GPUs lower it.
    Example: seven adapters have 16 lanes at 32 GT/s, and one has 8
    Instead: reseat the card, and compare LnkSta with LnkCap in the output of `lspci -vv`
    Source: PCI Express base specification, link training; NCCL user guide, troubleshooting
    """
    if or_none(host.facts.cpu.hypervisor):
        return  # a virtual machine shows made-up links
    kinds: dict[tuple[object, object], list[PciDevice]] = defaultdict(list)
    for one in known(host.facts.pci.devices):
        if (one.is_gpu or one.kind == NETWORK) and not or_none(one.virtual_function):
            kinds[one.vendor, one.device].append(one)
    for alike in kinds.values():
        widest, fastest = _most([one.link_width for one in alike]), _most([one.link_gts for one in alike])
        for one in alike:
            width, speed = or_none(one.link_width), or_none(one.link_gts)
            able, able_gts = or_none(one.max_link_width) or 0, or_none(one.max_link_gts) or 0
            if width and widest and width < widest <= able:
                yield _link(one, f"{width} of {widest:g} lanes")
            elif speed and fastest and speed < fastest <= able_gts and not one.is_gpu:
                yield _link(one, f"{speed:g} GT/s instead of {fastest:g} GT/s")


def _most(values: list[object]) -> float:
    """The largest of what is known; 0 of one device alone, with which nothing can be compared."""
    numbers = [float(one) for one in values if isinstance(one, int | float)]
    return max(numbers) if len(numbers) > 1 else 0.0


def _link(one: PciDevice, what: str) -> report.RuleFinding:
    kind = "GPU" if one.is_gpu else "adapter"
    message = f"the PCIe link of the {kind} has {what}"
    remedy = "reseat the card; compare LnkSta and LnkCap in the output of `lspci -vv`"
    lines = (f"{escaped(one.address)}: {or_none(one.link_width)} lanes, {or_none(one.link_gts)} GT/s",)
    return report.device(f"PCI {escaped(one.address)}", message, remedy, evidence=lines)


@rule("HOST012", "warning", covers=(), needs=("amd",))
def infinity_links_missing(host: JudgedHost) -> Results:
    """A GPU of AMD reaches fewer GPUs over Infinity Fabric than the others of its host.

    Why: RCCL sends the traffic between these GPUs over PCIe, and all ranks wait for it.
    Example: seven GPUs have 7 peers each, and one has 6
    Instead: rocm-smi --showtopo, then reset or replace the GPU
    Source: ROCm documentation, rocm-smi, topology
    """
    counts = {one.pci: or_none(one.xgmi_peers) for one in known(host.facts.amd.gpus)}
    told = {pci: count for pci, count in counts.items() if count is not None}
    most = max(told.values(), default=0)
    fewer = sorted(pci for pci, count in told.items() if count < most)
    if fewer:
        message = f"{counted(len(fewer), 'GPU')} of {len(told)} has fewer than {most} peers on Infinity Fabric"
        yield report.device(f"GPU {fewer[0]}", message, "compare `rocm-smi --showtopo`", evidence=(listed(fewer),))


@rule("NV020", "warning", covers=(), needs=("nvidia",))
def nvlink_switched_off(host: JudgedHost) -> Results:
    """The NVIDIA driver was loaded with NVreg_NvLinkDisable=1.

    Why: No GPU uses NVLink: NCCL takes PCIe and shared memory inside the node. The option is a workaround for
    machines whose NVSwitch fails to start, and often stays in modprobe.d.
    Example: options nvidia NVreg_NvLinkDisable=1
    Instead: remove the option from /etc/modprobe.d, rebuild the initramfs, and reboot
    Source: NVIDIA driver, kernel-open/nvidia/nv-reg.h, NVreg_NvLinkDisable; /proc/driver/nvidia/params
    """
    for one in known(host.facts.nvidia.params):
        if one.name == "NvLinkDisable" and or_none(one.value) == "1":
            remedy = "remove NVreg_NvLinkDisable from /etc/modprobe.d, rebuild the initramfs, and reboot"
            lines = (f"/proc/driver/nvidia/params: {one.name}: 1",)
            yield report.host("NVreg_NvLinkDisable", "the driver does not use NVLink", remedy, evidence=lines)


@rule("P2P033", "warning", covers=(), needs=("amd", "versions"), library="RCCL")
def coarse_grain_over_pcie(host: JudgedHost) -> Results:
    """AMD GPUs are connected only by PCIe, and HSA_FORCE_FINE_GRAIN_PCIE is not 1.

    Why: Up to ROCm 6, RCCL needs fine-grained memory over PCIe. Without it, RCCL warns of low performance and
    hangs, and its test programs hang.
    Example: two GPUs without Infinity Fabric, ROCm 6.0
    Instead: export HSA_FORCE_FINE_GRAIN_PCIE=1
    Source: RCCL, src/init.cc; https://github.com/ROCm/rccl/issues/1129
    """
    peers = [one.xgmi_peers for one in known(host.facts.amd.gpus)]
    if len(peers) < 2 or any(count != 0 for count in peers) or host.get("HSA_FORCE_FINE_GRAIN_PCIE") == "1":
        return
    if re.match(r"[56]\.", known(host.facts.versions.torch_hip)):
        name = "HSA_FORCE_FINE_GRAIN_PCIE"
        lines = (f"{len(peers)} GPUs without Infinity Fabric",)
        yield report.variable(name, "RCCL may hang over PCIe", evidence=lines, fix=report.export(name, "1"))
