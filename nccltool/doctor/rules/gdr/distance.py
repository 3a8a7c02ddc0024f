"""How near a NIC must be to a GPU."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, for_number, for_text, known
from nccltool.doctor.rules.gdr.base import by_address, gpus_and_nics, shared_bridges
from nccltool.hosts.facts import Gpu, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_LEVEL = "NCCL_NET_GDR_LEVEL"

_NEVER = ("LOC", "NVL", "NVB", "C2C")
"""Nearer than any NIC can be: PIX is the nearest."""

_FAR = ("PHB", "SYS")


@for_text("GDR001", "error", _LEVEL)
def unknown_distance(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL is no distance that NCCL knows.

    Why: Words are compared with capitals; another word is ignored without a message.
    Example: NCCL_NET_GDR_LEVEL=pix
    Instead: NCCL_NET_GDR_LEVEL=PIX
    Source: NCCL src/graph/paths.cc (ncclGetLevel)
    """
    if values.path_level(text) is None:
        word = text.strip().upper()
        fix = report.export(_LEVEL, word) if word in values.PATHS else report.unset(variable)
        remedy = f"write one of {', '.join(values.PATHS)}, or unset it"
        yield report.about(variable, "NCCL does not know this distance, and ignores it", remedy, fix=fix)


@for_text("GDR002", "warning", _LEVEL)
def distance_as_number(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL is a number.

    Why: Numbers are old: 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 and more SYS; what they mean has changed before.
    Example: NCCL_NET_GDR_LEVEL=2
    Instead: NCCL_NET_GDR_LEVEL=PXB
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    level = values.path_level(text)
    if level and text not in values.PATHS:
        yield report.better_set(variable, level, f"NCCL reads it as {level}", f"write {level}, if that is meant")


@for_text("GDR003", "warning", _LEVEL, needs=("pci", "nvidia", "rdma"))
def direct_rdma_off(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL switches GPU Direct RDMA off, on a host where a NIC is beside a GPU.

    Why: Data goes through the memory of the host: a third to half of the bandwidth is lost on HGX machines.
    Example: NCCL_NET_GDR_LEVEL=LOC
    Instead: unset NCCL_NET_GDR_LEVEL
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    if values.path_level(text) not in _NEVER:
        return
    places = by_address(host)
    pairs = gpus_and_nics(host, places)
    near = next((pair for pair in pairs if shared_bridges(*(places[one] for one in pair))), None)
    if near:
        message = "GPU Direct RDMA is off, and a NIC is behind the same switch as a GPU"
        yield report.better_unset(variable, message, evidence=(f"GPU {near[0]}, NIC {near[1]}",))


@for_text("GDR004", "warning", _LEVEL, needs=("kernel",))
def direct_rdma_across_sockets(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_NET_GDR_LEVEL allows GPU Direct RDMA through the processors of an x86 host.

    Why: Peer traffic through root complexes or between sockets is slow on many hosts, and broken on some. On
    Grace, where GPU and processor are connected by C2C, SYS is right.
    Example: NCCL_NET_GDR_LEVEL=SYS
    Instead: NCCL_NET_GDR_LEVEL=PXB, or unset
    Source: NCCL user guide, NCCL_NET_GDR_LEVEL
    """
    level = values.path_level(text)
    if level in _FAR and known(host.facts.kernel.arch) == "x86_64":
        message = f"{level} lets peer traffic go through the processors"
        yield report.better_unset(variable, message, f"unset {_LEVEL}, or write PXB")


_WITH_C2C = re.compile(r"\bG[HB]\d+")
"""GH200, GB200, GB300, GB10: GPUs with C2C to their processor."""


@for_number("GDR011", "warning", "NCCL_NET_GDR_C2C", needs=("kernel", "nvidia"))
def c2c_direct_rdma_off(host: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_NET_GDR_C2C=0 on Grace.

    Why: NICs are behind the processor there; without it they lose GPU Direct RDMA.
    Example: NCCL_NET_GDR_C2C=0 on GB200
    Instead: unset NCCL_NET_GDR_C2C
    Source: NCCL user guide, NCCL_NET_GDR_C2C
    """
    if enabled or known(host.facts.kernel.arch) != "aarch64":
        return
    gpus = host.gpus
    if any(_has_c2c(gpu) for gpu in gpus):
        shown = escaped(or_none(gpus[0].name) or gpus[0].pci)
        yield report.better_unset(variable, "NICs behind the processor lose GPU Direct RDMA", evidence=(shown,))
    else:
        for gpu in gpus:
            known(gpu.name)


def _has_c2c(gpu: Gpu) -> bool:
    by_name = _WITH_C2C.search(or_none(gpu.name) or "") is not None
    return by_name or any(link.remote == "cpu" for link in or_none(gpu.nvlinks) or ())
