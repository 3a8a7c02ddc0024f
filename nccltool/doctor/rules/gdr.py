"""GPU Direct RDMA: how near a NIC must be, the kernel's part, flushes, and what redirects peer traffic."""

import re
from collections.abc import Iterator, Sequence

from nccltool.core import versions
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, escaped, known, rule
from nccltool.hosts.facts import Flag, Gpu, PciDevice, or_none
from nccltool.hosts.nccl import adapters, values
from nccltool.hosts.nccl.settings import Variable

_LEVEL = "NCCL_NET_GDR_LEVEL"
_NEVER = ("LOC", "NVL", "NVB", "C2C")
"""Nearer than any NIC can be: PIX is the nearest."""
_FAR = ("PHB", "SYS")
_PEERS = ("nv_mem", "nv_mem_nc")
_DMABUF_KERNEL, _DMABUF_CUDA = Version(5, 12), Version(11, 7)
"""The kernel with dma-buf for RDMA; the CUDA that NCCL asks for (src/init.cc, dmaBufSupported)."""
_SOURCE_VALIDATION, _REDIRECTS = 0x01, 0x0C
"""Bits of the ACS control word: SrcValid; ReqRedir and CmpltRedir."""
_PEERMEM_DRIVER = 470


def _level(host: JudgedHost) -> tuple[Variable, str] | None:
    """NCCL_NET_GDR_LEVEL, when NCCL understands it."""
    variable = host.variable(_LEVEL)
    level = values.path_level(variable.value) if variable else None
    return (variable, level) if variable is not None and level else None


def _gpus(host: JudgedHost) -> tuple[Gpu, ...]:
    return known(host.facts.nvidia.gpus)


def _with_rdma(host: JudgedHost) -> bool:
    """Whether there are GPUs, and active ports for NCCL's own network. Raises NotKnown."""
    return bool(_gpus(host)) and bool(host.active_ports)


@rule("GDR001", "unknown-distance", "error")
def unknown_distance(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_LEVEL is no distance that NCCL knows.

    Why: Words are compared with capitals; another word is ignored without a message.
    Example: NCCL_NET_GDR_LEVEL=pix
    Instead: NCCL_NET_GDR_LEVEL=PIX
    Source: NCCL src/graph/paths.cc (ncclGetLevel)
    """
    variable = host.variable(_LEVEL)
    if variable and variable.value and values.path_level(variable.value) is None:
        word = variable.value.strip().upper()
        fix = report.export(_LEVEL, word) if word in values.PATHS else report.unset(variable)
        yield report.about(
            variable,
            "NCCL does not know this distance, and ignores it",
            part=variable.value,
            remedy=f"write one of {', '.join(values.PATHS)}, or unset it",
            fix=fix,
        )


@rule("GDR002", "distance-as-number", "warning")
def distance_as_number(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_LEVEL is a number.

    Why: Numbers are old: 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 and more SYS; what they mean has changed before.
    Example: NCCL_NET_GDR_LEVEL=2
    Instead: NCCL_NET_GDR_LEVEL=PXB
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    given = _level(host)
    if given and given[0].value not in values.PATHS:
        yield report.about(
            given[0],
            f"NCCL reads it as {given[1]}",
            part=given[0].value,
            remedy=f"write {given[1]}, if that is meant",
            fix=report.export(_LEVEL, given[1]),
        )


@rule("GDR003", "direct-rdma-off", "warning", needs=("pci", "nvidia", "rdma"))
def direct_rdma_off(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_LEVEL switches GPU Direct RDMA off, on a host where a NIC is beside a GPU.

    Why: Data goes through the memory of the host: a third to half of the bandwidth is lost on HGX machines.
    Example: NCCL_NET_GDR_LEVEL=LOC
    Instead: unset NCCL_NET_GDR_LEVEL
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    given = _level(host)
    if given is None or given[1] not in _NEVER:
        return
    places = _places(host)
    near = next(((gpu, nic) for gpu, nic in _pairs(host, places) if _shared(places[gpu], places[nic])), None)
    if near:
        yield report.better_unset(
            given[0],
            "GPU Direct RDMA is off, and a NIC is behind the same switch as a GPU",
            remedy=f"unset {_LEVEL}",
            evidence=(f"GPU {near[0]}, NIC {near[1]}",),
        )


def _places(host: JudgedHost) -> dict[str, PciDevice]:
    return {device.address: device for device in known(host.facts.pci.devices)}


def _pairs(host: JudgedHost, places: dict[str, PciDevice]) -> Iterator[tuple[str, str]]:
    """(GPU, RDMA device), by their PCI addresses; those that are in the tree. Raises NotKnown."""
    nics = dict.fromkeys(known(port.device.pci) for port in adapters.ports(host.facts.rdma))
    for gpu in _gpus(host):
        yield from ((gpu.pci, nic) for nic in nics if gpu.pci in places and nic in places)


def _shared(one: PciDevice, other: PciDevice) -> int:
    """How many bridges two devices have in common, from the root port down; 0 = they meet in the processor."""
    pairs = zip(one.upstream, other.upstream, strict=False)
    return next(
        (index for index, (a, b) in enumerate(pairs) if a != b), min(len(one.upstream), len(other.upstream))
    )


@rule("GDR004", "direct-rdma-across-sockets", "warning", needs=("kernel",))
def direct_rdma_across_sockets(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_LEVEL allows GPU Direct RDMA through the processors of an x86 host.

    Why: Peer traffic through root complexes or between sockets is slow on many hosts, and broken on some. On
    Grace, where GPU and processor are connected by C2C, SYS is right.
    Example: NCCL_NET_GDR_LEVEL=SYS
    Instead: NCCL_NET_GDR_LEVEL=PXB, or unset
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    given = _level(host)
    if given and given[1] in _FAR and known(host.facts.kernel.arch) == "x86_64":
        yield report.better_unset(
            given[0],
            f"{given[1]} lets peer traffic go through the processors",
            remedy=f"unset {_LEVEL}, or write PXB",
        )


def _peermem(host: JudgedHost) -> bool:
    """Whether a module for peer memory is loaded: what NCCL looks for in /sys. Raises NotKnown."""
    peers, modules = host.facts.nvidia.memory_peers, host.facts.kernel.modules
    if any(name in _PEERS for name in or_none(peers) or ()):
        return True
    if any(module.name == "nvidia_peermem" for module in or_none(modules) or ()):
        return True
    known(peers)
    return host.facts.kernel.module("nvidia_peermem") is not None


def _dmabuf(host: JudgedHost) -> dict[str, Flag]:
    """What dma-buf needs, and whether it is there."""
    nvidia, release = host.facts.nvidia, host.facts.kernel.release
    kernel: Flag = release if isinstance(release, Unknown) else _is(release, _DMABUF_KERNEL)
    if kernel is False and ".el8" in str(release):
        kernel = Unknown(f"whether the kernel {release} has dma-buf for RDMA, which its maker may have added")
    flavour: Flag = nvidia.flavour if isinstance(nvidia.flavour, Unknown) else nvidia.flavour == "open"
    cuda: Flag = nvidia.cuda if isinstance(nvidia.cuda, Unknown) else _is(nvidia.cuda, _DMABUF_CUDA)
    return {"kernel 5.12": kernel, "open kernel modules of NVIDIA": flavour, "CUDA 11.7": cuda}


def _is(text: str, least: Version) -> Flag:
    version = versions.parse(text)
    return Unknown(f"{text[:40]!r} is no version") if version is None else version >= least


@rule("GDR005", "no-direct-rdma", "error", needs=("rdma", "nvidia", "kernel"))
def no_direct_rdma(host: JudgedHost) -> Results:
    """Neither a module for peer memory is loaded, nor is dma-buf possible.

    Why: NCCL works, and copies everything through the memory of the host. dma-buf needs kernel 5.12, the open
    kernel modules of NVIDIA and CUDA 11.7.
    Example: nvidia_peermem is not loaded after a boot
    Instead: modprobe nvidia_peermem
    Source: NCCL user guide, troubleshooting of GPUs (GPU-to-NIC); src/transport/net_ib/gdr.cc, src/init.cc
    """
    if not _with_rdma(host) or _peermem(host) or host.integer("NCCL_DMABUF_ENABLE") == 0:
        return
    needed = _dmabuf(host)
    missing = [name for name, there in needed.items() if there is False]
    unknown = [there for there in needed.values() if isinstance(there, Unknown)]
    if missing:
        yield report.host(
            host.facts.host,
            "no GPU Direct RDMA: data is copied through the memory of the host",
            remedy="modprobe nvidia_peermem, and name it in /etc/modules-load.d for the next boot",
            evidence=("nvidia_peermem is not loaded", f"dma-buf is not possible without {', '.join(missing)}"),
            severity=host.if_several_nodes("error", "info", "error"),
        )
    else:
        yield from unknown


@rule("GDR006", "both-ways-closed", "error", needs=("rdma", "nvidia", "kernel"))
def both_ways_closed(host: JudgedHost) -> Results:
    """NCCL_DMABUF_ENABLE=0, and no module for peer memory is loaded.

    Why: GPU Direct RDMA has these two ways, and both are closed.
    Example: NCCL_DMABUF_ENABLE=0 without nvidia_peermem
    Instead: unset NCCL_DMABUF_ENABLE
    Source: NCCL user guide, NCCL_DMABUF_ENABLE
    """
    variable = host.variable("NCCL_DMABUF_ENABLE")
    if variable and host.integer("NCCL_DMABUF_ENABLE") == 0 and _with_rdma(host) and not _peermem(host):
        yield report.better_unset(
            variable,
            "dma-buf is switched off, and nvidia_peermem is not loaded: no GPU Direct RDMA",
            remedy="unset NCCL_DMABUF_ENABLE, or: modprobe nvidia_peermem",
        )


@rule("GDR007", "gdrcopy-missing", "warning", needs=("rdma", "container"))
def gdrcopy_missing(host: JudgedHost) -> Results:
    """NCCL_GDRCOPY_ENABLE=1, and /dev/gdrdrv or libgdrapi.so is missing.

    Why: NCCL warns, and goes on without. It opens libgdrapi.so, a name that only the package for development has:
    libgdrapi.so.2 alone is not found.
    Example: NCCL_GDRCOPY_ENABLE=1 in a container without /dev/gdrdrv
    Instead: pass /dev/gdrdrv, and install libgdrapi-dev
    Source: NCCL src/misc/gdrwrap.cc (GDRAPI_LIBNAME)
    """
    variable = host.variable("NCCL_GDRCOPY_ENABLE")
    if variable is None or host.integer("NCCL_GDRCOPY_ENABLE") != 1:
        return
    device = host.facts.container.device("/dev/gdrdrv")
    library = known(host.facts.rdma.gdrapi_link)
    missing = [name for name, there in (("/dev/gdrdrv", device), ("libgdrapi.so", library)) if not there]
    if missing:
        other = or_none(host.facts.rdma.gdrapi)
        yield report.better_unset(
            variable,
            f"{' and '.join(missing)} missing: NCCL goes on without GDRCopy",
            remedy="load gdrdrv, pass /dev/gdrdrv to the container, install libgdrapi-dev; or unset it",
            part="",
            evidence=(f"there is {escaped(other)}, which NCCL does not look for",)
            if other and not library
            else (),
        )


@rule("GDR008", "flush-disabled", "error", needs=("nvidia", "kernel"))
def flush_disabled(host: JudgedHost) -> Results:
    """The flush after a receive with GPU Direct RDMA is switched off.

    Why: Up to Ampere, and where a NIC of its own data path meets C2C, the GPU may read old data: results are wrong
    without a message. From Hopper on x86 NCCL does not flush anyway.
    Example: NCCL_GDR_FLUSH_DISABLE=1
    Instead: unset NCCL_GDR_FLUSH_DISABLE
    Source: NCCL src/transport/net_ib/connect.cc; src/graph/paths.cc (ncclTopoNeedFlush)
    """
    for name in ("NCCL_GDR_FLUSH_DISABLE", "OFI_NCCL_GDR_FLUSH_DISABLE"):
        variable = host.variable(name)
        off = variable and (host.integer(name) or values.strict_bool(variable.value))
        if variable and off:
            needless = _needs_no_flush(host)
            yield report.better_unset(
                variable,
                "it has no effect on these GPUs" if needless else "the GPU may read old data after a receive",
                severity="info" if needless else None,
            )


def _needs_no_flush(host: JudgedHost) -> bool:
    """Whether all GPUs are known to be Hopper or newer, on x86."""
    gpus = or_none(host.facts.nvidia.gpus) or ()
    new = [(or_none(gpu.compute_capability) or 0) >= 9 for gpu in gpus]
    return bool(new) and all(new) and host.facts.kernel.arch == "x86_64"


@rule("GDR009", "direct-read-off", "warning", needs=("nvidia",))
def direct_read_off(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_READ=0 on GPUs that would send by GPU Direct RDMA.

    Why: What is sent is copied into the memory of the host first. Sending directly is the default from Ampere on,
    and where GPUs have NVLink.
    Example: NCCL_NET_GDR_READ=0
    Instead: unset NCCL_NET_GDR_READ
    Source: NCCL user guide, NCCL_NET_GDR_READ; src/graph/paths.cc (ncclTopoCheckGdr)
    """
    variable = host.variable("NCCL_NET_GDR_READ")
    if variable is None or host.integer("NCCL_NET_GDR_READ") != 0:
        return
    gpus = _gpus(host)
    if any((or_none(gpu.compute_capability) or 0) >= 8 or or_none(gpu.nvlinks) for gpu in gpus):
        yield report.better_unset(variable, "what is sent is copied into the memory of the host first")
    else:
        for gpu in gpus:
            known(gpu.compute_capability), known(gpu.nvlinks)


@rule("GDR010", "peer-traffic-redirected", "warning", needs=("pci", "nvidia", "rdma", "cpu", "kernel"))
def peer_traffic_redirected(host: JudgedHost) -> Results:
    """ACS of a switch, or the IOMMU, sends traffic between GPU and NIC up to the processor.

    Why: It is slow, and hangs on some hosts. Only for bare metal: virtual machines need ACS, and ATS in the NIC.
    Example: ACSCtl: SrcValid+ ReqRedir+ on a port of a PCI switch
    Instead: setpci -s 03:00.0 ECAP_ACS+0x6.w=0000 at each boot; iommu=pt on the kernel's command line
    Source: NCCL user guide, troubleshooting of GPUs (ACS)
    """
    if not _gpus(host) or known(host.facts.cpu.hypervisor):
        return
    yield from _acs(host)
    yield from _iommu(host)


def _acs(host: JudgedHost) -> Results:
    devices = known(host.facts.pci.devices)
    bridges = {one.address: one.acs_control for one in devices if one.is_bridge and _may_redirect(one)}
    if not bridges:
        return
    places = _places(host)
    words = {name: bridges[name] for name in _between(host, places) if name in bridges}
    on = {name: word for name, word in words.items() if isinstance(word, int)}
    if on:
        redirects = any(word & _REDIRECTS for word in on.values())
        yield report.device(
            min(on),
            f"ACS is on in {len(on)} ports of switches between GPUs and NICs",
            remedy=f"setpci -s {escaped(min(on))} ECAP_ACS+0x6.w=0000, for each of them, at each boot",
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
    ends = [gpu.pci for gpu in _gpus(host) if gpu.pci in places]
    try:
        pairs = list(_pairs(host, places))
    except NotKnown:  # the GPUs among themselves can be judged without
        pairs = []
    pairs += [(one, other) for index, one in enumerate(ends) for other in ends[index + 1 :]]
    found: dict[str, None] = {}
    for one, other in pairs:
        shared = _shared(places[one], places[other])
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
            host.facts.host,
            "the IOMMU translates what GPUs and NICs send to each other",
            remedy="add iommu=pt to the kernel's command line, or switch VT-d off in the BIOS",
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


_WITH_C2C = re.compile(r"\bG[HB]\d+")
"""GH200, GB200, GB300, GB10: GPUs with C2C to their processor."""


@rule("GDR011", "c2c-direct-rdma-off", "warning", needs=("kernel", "nvidia"))
def c2c_direct_rdma_off(host: JudgedHost) -> Results:
    """NCCL_NET_GDR_C2C=0 on Grace.

    Why: NICs are behind the processor there; without it they lose GPU Direct RDMA.
    Example: NCCL_NET_GDR_C2C=0 on GB200
    Instead: unset NCCL_NET_GDR_C2C
    Source: NCCL user guide, NCCL_NET_GDR_C2C
    """
    variable = host.variable("NCCL_NET_GDR_C2C")
    if variable is None or host.integer("NCCL_NET_GDR_C2C") != 0 or known(host.facts.kernel.arch) != "aarch64":
        return
    gpus = _gpus(host)
    if any(_has_c2c(gpu) for gpu in gpus):
        yield report.better_unset(
            variable,
            "NICs behind the processor lose GPU Direct RDMA",
            evidence=(escaped(or_none(gpus[0].name) or gpus[0].pci),),
        )
    else:
        for gpu in gpus:
            known(gpu.name)


def _has_c2c(gpu: Gpu) -> bool:
    by_name = _WITH_C2C.search(or_none(gpu.name) or "") is not None
    return by_name or any(link.remote == "cpu" for link in or_none(gpu.nvlinks) or ())


@rule("GDR012", "old-peer-memory-module", "warning", needs=("kernel", "nvidia"))
def old_peer_memory_module(host: JudgedHost) -> Results:
    """nv_peer_mem is loaded with a driver that brings nvidia_peermem.

    Why: nvidia_peermem took its place with driver 470; the two cannot be loaded together.
    Example: nv_peer_mem with driver 570
    Instead: modprobe -r nv_peer_mem && modprobe nvidia_peermem
    Source: NCCL user guide, troubleshooting of GPUs; documentation of the driver, GPUDirect RDMA
    """
    if host.facts.kernel.module("nv_peer_mem") is None:
        return
    driver = known(host.facts.nvidia.driver)
    if values.atoi(driver) >= _PEERMEM_DRIVER:
        yield report.host(
            host.facts.host,
            f"nv_peer_mem is loaded with driver {escaped(driver)}, which has nvidia_peermem",
            remedy="modprobe -r nv_peer_mem && modprobe nvidia_peermem; remove the package nvidia-peer-memory",
            evidence=("module nv_peer_mem",),
        )
