"""How near a NIC must be to a GPU."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.doctor.rules.gdr.base import by_address, gpus_and_nics, shared_bridges
from nccltool.hosts.facts import Gpu, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable

_LEVEL = "NCCL_NET_GDR_LEVEL"

_NEVER = ("LOC", "NVL", "NVB", "C2C")
"""Nearer than any NIC can be: PIX is the nearest."""

_FAR = ("PHB", "SYS")


def _level(host: JudgedHost) -> tuple[Variable, str] | None:
    """NCCL_NET_GDR_LEVEL, when NCCL understands it."""
    variable = host.variable(_LEVEL)
    level = values.path_level(variable.value) if variable else None
    return (variable, level) if variable is not None and level else None


@rule("GDR001", "error")
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
            f"write one of {', '.join(values.PATHS)}, or unset it",
            fix=fix,
        )


@rule("GDR002", "warning")
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
            f"write {given[1]}, if that is meant",
            fix=report.export(_LEVEL, given[1]),
        )


@rule("GDR003", "warning", needs=("pci", "nvidia", "rdma"))
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
    places = by_address(host)
    near = next(
        ((gpu, nic) for gpu, nic in gpus_and_nics(host, places) if shared_bridges(places[gpu], places[nic])), None
    )
    if near:
        yield report.better_unset(
            given[0],
            "GPU Direct RDMA is off, and a NIC is behind the same switch as a GPU",
            f"unset {_LEVEL}",
            evidence=(f"GPU {near[0]}, NIC {near[1]}",),
        )


@rule("GDR004", "warning", needs=("kernel",))
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
            given[0], f"{given[1]} lets peer traffic go through the processors", f"unset {_LEVEL}, or write PXB"
        )


_WITH_C2C = re.compile(r"\bG[HB]\d+")
"""GH200, GB200, GB300, GB10: GPUs with C2C to their processor."""


@rule("GDR011", "warning", needs=("kernel", "nvidia"))
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
    gpus = host.gpus
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
