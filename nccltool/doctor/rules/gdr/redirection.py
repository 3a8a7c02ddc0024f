"""What redirects traffic between peers: ACS and the IOMMU."""

import re
from collections.abc import Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, escaped, known, rule
from nccltool.doctor.rules.gdr.base import by_address, gpus_and_nics, shared_bridges
from nccltool.hosts.facts import PciDevice, or_none

_SOURCE_VALIDATION, _REDIRECTS = 0x01, 0x0C
"""Bits of the ACS control word: SrcValid; ReqRedir and CmpltRedir."""


@rule("GDR010", "warning", needs=("pci", "nvidia", "rdma", "cpu", "kernel"))
def peer_traffic_redirected(host: JudgedHost) -> Results:
    """ACS of a switch, or the IOMMU, sends traffic between GPU and NIC up to the processor.

    Why: It is slow, and hangs on some hosts. Only for bare metal: virtual machines need ACS, and ATS in the NIC.
    Example: ACSCtl: SrcValid+ ReqRedir+ on a port of a PCI switch
    Instead: setpci -s 03:00.0 ECAP_ACS+0x6.w=0000 at each boot; iommu=pt on the kernel's command line
    Source: NCCL user guide, troubleshooting of GPUs (ACS)
    """
    if not host.gpus or known(host.facts.cpu.hypervisor):
        return
    yield from _acs(host)
    yield from _iommu(host)


def _acs(host: JudgedHost) -> Results:
    devices = known(host.facts.pci.devices)
    bridges = {one.address: one.acs_control for one in devices if one.is_bridge and _may_redirect(one)}
    if not bridges:
        return
    places = by_address(host)
    words = {name: bridges[name] for name in _between(host, places) if name in bridges}
    on = {name: word for name, word in words.items() if isinstance(word, int)}
    if on:
        redirects = any(word & _REDIRECTS for word in on.values())
        yield report.device(
            min(on),
            f"ACS is on in {len(on)} ports of switches between GPUs and NICs",
            f"setpci -s {escaped(min(on))} ECAP_ACS+0x6.w=0000, for each of them, at each boot",
            evidence=tuple(f"{escaped(name)}: ACS control {word:#06x}" for name, word in sorted(on.items())[:8]),
            severity="error" if redirects else None,
        )
    else:
        yield from [word for word in words.values() if isinstance(word, Unknown)][:1]


def _may_redirect(bridge: PciDevice) -> bool:
    """ACS is on in it, or that is not known."""
    word = bridge.acs_control
    return isinstance(word, Unknown) or bool((word or 0) & (_SOURCE_VALIDATION | _REDIRECTS))


def _between(host: JudgedHost, places: dict[str, PciDevice]) -> dict[str, None]:
    """The ports of switches on the way between a GPU and a NIC, or another GPU, behind the same switch."""
    ends = [gpu.pci for gpu in host.gpus if gpu.pci in places]
    try:
        pairs = list(gpus_and_nics(host, places))
    except NotKnown:  # the GPUs among themselves can be judged without
        pairs = []
    pairs += [(one, other) for index, one in enumerate(ends) for other in ends[index + 1 :]]
    found: dict[str, None] = {}
    for one, other in pairs:
        shared = shared_bridges(places[one], places[other])
        if shared:  # the last port that they share, and what is below it
            found |= dict.fromkeys((*places[one].upstream[shared - 1 :], *places[other].upstream[shared - 1 :]))
    return found


_COMMAND_LINE = re.compile(r"\b(intel_iommu|amd_iommu)=on\b")


def _iommu(host: JudgedHost) -> Results:
    """The types of the groups tell best; where they cannot be read, the command line."""
    if known(host.facts.kernel.arch) != "x86_64":
        return
    types, line = host.facts.pci.iommu_types, host.facts.kernel.cmdline
    if isinstance(types, Unknown):
        text = known(line)
        translates = bool(_COMMAND_LINE.search(text)) and "iommu=pt" not in text.split()
    else:
        translates = any(kind.startswith("DMA") for kind in types)
    if translates:
        yield report.host(
            host.name,
            "the IOMMU translates what GPUs and NICs send to each other",
            "add iommu=pt to the kernel's command line, or switch VT-d off in the BIOS",
            evidence=_shown(or_none(types), or_none(line)),
            severity="error" if _in_use(host) else None,
        )


def _shown(types: Sequence[str] | None, line: str | None) -> tuple[str, ...]:
    words = [word for word in (line or "").split() if "iommu" in word]
    shown = f"types of IOMMU groups: {', '.join(types)}" if types else "types of IOMMU groups: not known"
    return (escaped(shown), escaped(f"command line: {' '.join(words) or 'nothing about the IOMMU'}"))


def _in_use(host: JudgedHost) -> bool:
    """Whether GPU Direct RDMA would be used, as far as it is known."""
    try:
        return bool(host.active_ports)
    except NotKnown:
        return False
