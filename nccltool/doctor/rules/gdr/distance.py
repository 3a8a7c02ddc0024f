"""How near a NIC is to a GPU, and what redirects the traffic between them: ACS and the IOMMU."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations, product, takewhile

from nccltool.core.text import counted
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, escaped, for_number, for_text, rule
from nccltool.hosts.facts import Gpu, NotKnown, PciDevice, known, or_none
from nccltool.hosts.nccl import adapters, values
from nccltool.hosts.nccl.settings import Variable

_LEVEL = "NCCL_NET_GDR_LEVEL"

_NEVER = ("LOC", "NVL", "NVB", "C2C")
"""Nearer than any NIC can be: PIX is the nearest."""


@for_text("GDR001", "warning", _LEVEL)
def unknown_distance(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL is not a distance that NCCL knows.

    Why: Names must be in upper case; NCCL ignores anything else without a message.
    Example: NCCL_NET_GDR_LEVEL=pix
    Instead: NCCL_NET_GDR_LEVEL=PIX
    Source: NCCL src/graph/paths.cc (ncclGetLevel)
    """
    if values.path_level(text) is None:
        word = text.strip().upper()
        fix = report.export(_LEVEL, word) if word in values.PATHS else report.unset(variable)
        remedy = f"set one of {', '.join(values.PATHS)} or unset it"
        yield report.about(variable, "NCCL does not know this distance and ignores it", remedy, fix=fix)


@for_text("GDR002", "info", _LEVEL)
def distance_as_number(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL is a number.

    Why: Numbers are a legacy form, and their meaning has changed before. Currently 0 means LOC, 1 PIX, 2 PXB, 3
    PHB, and 4 or more SYS.
    Example: NCCL_NET_GDR_LEVEL=2
    Instead: NCCL_NET_GDR_LEVEL=PXB
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    level = values.path_level(text)
    if level and text not in values.PATHS:
        yield report.better_set(variable, level, f"NCCL reads it as {level}", f"set {level} if you mean that")


@for_text("GDR003", "warning", _LEVEL, needs=("pci", "nvidia", "rdma"))
def direct_rdma_off(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL disables GPU Direct RDMA on a host where a NIC is close to a GPU, or may be.

    Why: Data goes through host memory, which costs a third to half of the bandwidth on HGX machines. It does not
    matter in a job of one node.
    Example: NCCL_NET_GDR_LEVEL=LOC
    Instead: unset NCCL_NET_GDR_LEVEL
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    if values.path_level(text) not in _NEVER:
        return
    try:
        near = next((pair for pair in _gpus_and_nics(host, _places(host)) if _shared(*pair)), None)
    except NotKnown:
        if not host.several_nodes:
            return
        yield report.better_unset(variable, "GPU Direct RDMA is off: NCCL copies all data through host memory")
        return
    if near:
        message = "GPU Direct RDMA is off, although a NIC and a GPU are behind the same switch"
        yield report.better_unset(variable, message, evidence=(f"GPU {near[0].address}, NIC {near[1].address}",))


def _places(host: JudgedHost) -> dict[str, PciDevice]:
    """PCI devices by their addresses. Raises NotKnown."""
    return {device.address: device for device in known(host.facts.pci.devices)}


def _gpus_and_nics(host: JudgedHost, places: dict[str, PciDevice]) -> Iterator[tuple[PciDevice, PciDevice]]:
    """(GPU, RDMA device), those that are in the tree. Raises NotKnown."""
    nics = dict.fromkeys(known(port.device.pci) for port in adapters.ports(host.facts.rdma))
    gpus = [places[gpu.pci] for gpu in host.gpus if gpu.pci in places]
    return product(gpus, [places[nic] for nic in nics if nic in places])


def _shared(one: PciDevice, other: PciDevice) -> int:
    """How many bridges two devices have in common, from the root port down; 0 = they meet in the processor."""
    side_by_side = zip(one.upstream, other.upstream, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], side_by_side))


@for_text("GDR004", "info", _LEVEL, needs=("kernel",))
def direct_rdma_across_sockets(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL allows GPU Direct RDMA through the CPUs of an x86 host.

    Why: Peer-to-peer traffic through root complexes or between sockets is slow on many hosts, and broken on some.
    On Grace, where C2C connects the GPU and the CPU, SYS is correct.
    Example: NCCL_NET_GDR_LEVEL=SYS
    Instead: unset NCCL_NET_GDR_LEVEL or set it to PXB
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    level = values.path_level(text)
    if level in ("PHB", "SYS") and known(host.facts.kernel.arch) == "x86_64":
        message = f"{level} allows peer-to-peer traffic through the CPUs"
        yield report.better_unset(variable, message, f"unset {_LEVEL} or export {_LEVEL}=PXB")


@for_number("GDR011", "warning", "NCCL_NET_GDR_C2C", needs=("kernel", "nvidia"))
def c2c_direct_rdma_off(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NET_GDR_C2C is 0 on Grace.

    Why: On Grace, NICs are behind the CPU and lose GPU Direct RDMA without C2C.
    Example: NCCL_NET_GDR_C2C=0 on GB200
    Instead: unset NCCL_NET_GDR_C2C
    Source: NCCL user guide, NCCL_NET_GDR_C2C
    """
    if enabled or known(host.facts.kernel.arch) != "aarch64":
        return
    gpus = host.gpus
    if any(_has_c2c(gpu) for gpu in gpus):
        shown = escaped(or_none(gpus[0].name) or gpus[0].pci)
        yield report.better_unset(variable, "NICs behind the CPU lose GPU Direct RDMA", evidence=(shown,))
    else:
        for gpu in gpus:
            known(gpu.name)


def _has_c2c(gpu: Gpu) -> bool:
    by_name = re.search(r"\bG[HB]\d+", or_none(gpu.name) or "") is not None  # GH200, GB200, GB300, GB10
    return by_name or any(link.remote == "cpu" for link in or_none(gpu.nvlinks) or ())


_SOURCE_VALIDATION, _REDIRECTS = 0x01, 0x0C
"""Bits of the ACS control word: SrcValid; ReqRedir and CmpltRedir."""


@rule("GDR010", "warning", needs=("pci", "nvidia", "rdma", "cpu", "kernel"))
def peer_traffic_redirected(host: JudgedHost) -> Results:
    """A PCI switch's ACS or the IOMMU redirects GPU-to-NIC traffic through the CPU.

    Why: Redirected traffic is slow and hangs on some hosts. This applies only to bare metal: VMs need ACS, and
    ATS in the NIC.
    Example: lspci -vvv shows ACSCtl: SrcValid+ ReqRedir+ for a port of a PCI switch
    Instead: run setpci -s 03:00.0 ECAP_ACS+0x6.w=0000 after each boot and add iommu=pt to the kernel command line
    Source: NCCL user guide, troubleshooting, PCI Access Control Services
    """
    if not host.gpus or known(host.facts.cpu.hypervisor):
        return
    yield from _acs(host)
    yield from _iommu(host)


def _acs(host: JudgedHost) -> Results:
    places = _places(host)
    bridges = {one.address: one.acs_control for one in places.values() if one.is_bridge and _may_redirect(one)}
    if not bridges:
        return
    words = {name: bridges[name] for name in _between(host, places) if name in bridges}
    on = {name: word for name, word in words.items() if isinstance(word, int)}
    if on:
        message = f"ACS is on for {counted(len(on), 'switch port')} between GPUs and NICs"
        remedy = f"setpci -s {escaped(min(on))} ECAP_ACS+0x6.w=0000 for each port, after each boot"
        lines = tuple(f"{escaped(name)}: ACS control {word:#06x}" for name, word in sorted(on.items())[:8])
        yield report.device(min(on), message, remedy, evidence=lines)
    else:
        yield from [word for word in words.values() if isinstance(word, Unknown)][:1]


def _may_redirect(bridge: PciDevice) -> bool:
    """ACS is on in it, or that is not known."""
    word = bridge.acs_control
    return isinstance(word, Unknown) or bool((word or 0) & (_SOURCE_VALIDATION | _REDIRECTS))


def _between(host: JudgedHost, places: dict[str, PciDevice]) -> dict[str, None]:
    """The ports of switches on the way between a GPU and a NIC, or another GPU, behind the same switch."""
    pairs = list(combinations((places[gpu.pci] for gpu in host.gpus if gpu.pci in places), 2))
    with suppress(NotKnown):  # the GPUs among themselves can be judged without
        pairs = [*_gpus_and_nics(host, places), *pairs]
    found: dict[str, None] = {}
    for one, other in pairs:
        if shared := _shared(one, other):  # the last port that they share, and what is below it
            found |= dict.fromkeys((*one.upstream[shared - 1 :], *other.upstream[shared - 1 :]))
    return found


def _iommu(host: JudgedHost) -> Results:
    """The types of the groups tell best; where they cannot be read, the command line."""
    if known(host.facts.kernel.arch) != "x86_64":
        return
    types, line = host.facts.pci.iommu_types, host.facts.kernel.cmdline
    if isinstance(types, Unknown):
        text = known(line)
        translates = bool(re.search(r"\b(intel_iommu|amd_iommu)=on\b", text)) and "iommu=pt" not in text.split()
    else:
        translates = any(kind.startswith("DMA") for kind in types)
    if translates:
        message = "the IOMMU translates traffic between GPUs and NICs"
        remedy = "add iommu=pt to the kernel command line or disable VT-d in the BIOS"
        lines = _shown(or_none(types), or_none(line))
        yield report.host(host.name, message, remedy, evidence=lines)


def _shown(types: Sequence[str] | None, line: str | None) -> tuple[str, ...]:
    words = [word for word in (line or "").split() if "iommu" in word]
    shown = f"IOMMU group types: {',  '.join(types)}" if types else "IOMMU group types: unknown"
    return (escaped(shown), escaped(f"command line: {' '.join(words) or 'no IOMMU option'}"))


def _in_use(host: JudgedHost) -> bool:
    """Whether GPU Direct RDMA would be used, as far as it is known."""
    try:
        return bool(host.active_ports)
    except NotKnown:
        return False
