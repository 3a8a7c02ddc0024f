"""Settings that trigger a bug in a specific release of NCCL or ROCm, or that a release needs."""

import re
from collections.abc import Callable, Mapping

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Variable,
    escaped,
    for_number,
    for_text,
    known,
    rule,
    shortened,
)
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl.settings import CONF_FILE

_Release = tuple[int, int]
_RECLAIMS: Mapping[str, tuple[Callable[[_Release], bool], str]] = {
    "gfx942": (lambda hip: hip < (6, 4), "RCCL does not use LL128, and small operations are slow"),
    "gfx90a": (lambda hip: hip >= (7, 13), "each operation below 16 MB takes five to ten times as long"),
}
"""The releases of ROCm that need HSA_NO_SCRATCH_RECLAIM=1 on an architecture, and what happens without it."""
_HANGS = ((7, 0), (7, 2))
"""From this release of ROCm to below this one, RCCL may hang on gfx942 without the variable."""
_GDAKI = 3
"""NCCL_GIN_TYPE: the GPU itself posts to the adapter."""
_FULL_MTU = 4200
"""From this MTU of an interface on, RDMA sends packets of 4096 bytes."""


@for_text("BUG001", "warning", "NCCL_COMM_ID", covers=())
def comm_id_chooses_wrongly(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_COMM_ID is set, and this NCCL release chooses an interface outside the subnet of that address.

    Why: Releases 2.29.2 to 2.29.7 invert the comparison of IPv4 subnets: they take the first interface outside the
    address's subnet, usually lo, and ranks on other hosts cannot connect.
    Example: NCCL_COMM_ID=10.0.0.1:29500 with NCCL 2.29.7
    Instead: unset NCCL_COMM_ID or use a different NCCL release
    Source: NCCL src/os/linux.cc (matchSubnet); confirmed by running the library
    """
    if host.nccl_is(since=(2, 29, 2), before=(2, 30, 3)):
        message = f"NCCL {host.nccl} chooses the first IPv4 interface outside the subnet of this address"
        yield report.better_unset(variable, message, "unset NCCL_COMM_ID or use NCCL 2.30.3 or newer")


@rule("BUG002", "error", covers=())
def long_name_overwrites_memory(host: JudgedHost) -> Results:
    """A configuration file contains a variable name longer than 1023 characters.

    Why: Releases before 2.23.4 write past the end of a buffer, which changes NCCL variables or crashes NCCL.
    Example: an unrelated file saved as /etc/nccl.conf
    Instead: write lines of the form NAME=value
    Source: NCCL src/misc/param.cc (setEnvFile); confirmed by running the library
    """
    for file, line in host.settings.lines():
        if len(line.name.encode(errors="replace")) >= 1023 and known(host.nccl) < CONF_FILE:
            message = f"NCCL {host.nccl} writes past the end of its buffer when it reads this line"
            remedy = f"remove line {line.number} of {escaped(file.path)}"
            lines = (f"{escaped(file.path)}:{line.number}: {escaped(shortened(line.text, 80))}",)
            yield report.file(file.path, message, remedy, evidence=lines)


@rule("BUG003", "warning", covers=(), needs=("versions", "amd"), library="RCCL")
def scratch_reclaimed(host: JudgedHost) -> Results:
    """This release of ROCm needs HSA_NO_SCRATCH_RECLAIM=1 on these GPUs.

    Why: The runtime takes scratch memory back after each kernel. On gfx942, RCCL before ROCm 6.4 then does without
    LL128, and collectives of ROCm 7.0 and 7.1 may hang. On gfx90a with ROCm 7.13, small operations are several
    times slower.
    Example: eight MI300X with ROCm 7.1, and HSA_NO_SCRATCH_RECLAIM is not set
    Instead: export HSA_NO_SCRATCH_RECLAIM=1
    Source: ROCm/rccl#1683; ROCm/rocm-systems#8657; https://github.com/vllm-project/vllm/issues/39111
    """
    if (host.get("HSA_NO_SCRATCH_RECLAIM") or "0") != "0":
        return
    found = re.match(r"(\d{1,3})\.(\d{1,3})\b", known(host.facts.versions.torch_hip))
    if found is None:
        return
    hip = (int(found[1]), int(found[2]))
    kinds = {or_none(one.gfx) or "" for one in known(host.facts.amd.gpus)}
    effects = [what for gfx, (needs, what) in _RECLAIMS.items() if gfx in kinds and needs(hip)]
    if "gfx942" in kinds and _HANGS[0] <= hip < _HANGS[1]:
        effects.append("collectives may hang")
    if effects:
        message = f"without HSA_NO_SCRATCH_RECLAIM=1 on ROCm {hip[0]}.{hip[1]}, {effects[0]}"
        yield report.variable("HSA_NO_SCRATCH_RECLAIM", message, "export HSA_NO_SCRATCH_RECLAIM=1")


@for_number("BUG004", "error", "NCCL_GIN_TYPE", covers=(), needs=("rdma", "network"))
def gdaki_with_small_mtu(host: JudgedHost, variable: Variable, kind: int) -> Results:
    """NCCL_GIN_TYPE is 3 (GDAKI), but a RoCE port cannot send packets of 4096 bytes.

    Why: Releases 2.28.3 to 2.30.7 set up GDAKI connections for packets of 4096 bytes, whatever the port allows,
    and the first operation hangs.
    Example: NCCL_GIN_TYPE=3 on an interface with MTU 1500
    Instead: ip link set dev NAME mtu 9000, or NCCL_GIN_TYPE=2
    Source: https://github.com/NVIDIA/nccl/issues/1957
    """
    if kind != _GDAKI or not host.nccl_is(since=(2, 28, 3), before=(2, 31)) or not host.several_nodes:
        return
    for port in host.active_ports:
        for name in (or_none(port.device.netdevs) or ()) if port.roce else ():
            interface = host.facts.network.interface(name)
            if interface is not None and known(interface.mtu) < _FULL_MTU:
                message = f"NCCL {host.nccl} sends packets of 4096 bytes; {escaped(name)} has MTU {interface.mtu}"
                remedy = f"ip link set dev {escaped(name)} mtu 9000, or NCCL_GIN_TYPE=2"
                yield report.about(variable, message, remedy)
                return


_ROUNDS_MIX = ((2, 27, 7), (2, 29, 2))
"""From the earliest release of a report to before the first that separates rounds: NCCL_P2P_EPOCH_ENABLE."""
_HANGING_CHANNELS = 4


@for_number("BUG006", "warning", "NCCL_NCHANNELS_PER_NET_PEER", covers=(), library="NCCL")
def channels_that_hang(host: JudgedHost, variable: Variable, channels: int) -> Results:
    """NCCL_NCHANNELS_PER_NET_PEER is 4 or more, and this NCCL release may hang with it.

    Why: Users report hangs between nodes: sends and receives with 32 channels on 2.28.9, and all-to-all on 64
    ranks with 4 channels on 2.27.7. Since 2.29.2, NCCL separates the rounds of such operations.
    Example: NCCL_NCHANNELS_PER_NET_PEER=32 with NCCL 2.28.9
    Instead: unset NCCL_NCHANNELS_PER_NET_PEER, or install NCCL 2.29.2
    Source: https://github.com/NVIDIA/nccl/issues/1915; https://github.com/NVIDIA/nccl/issues/1835; NCCL
    src/enqueue.cc (NCCL_P2P_EPOCH_ENABLE)
    """
    since, before = _ROUNDS_MIX
    if channels >= _HANGING_CHANNELS and host.several_nodes and host.nccl_is(since=since, before=before):
        message = f"sends, receives, and all-to-all between nodes may hang with NCCL {host.nccl}"
        remedy = "unset NCCL_NCHANNELS_PER_NET_PEER, or install NCCL 2.29.2 or newer"
        yield report.better_unset(variable, message, remedy, part="")


_LIKELY = 0.6
"""How strong a defect must be to be a warning: its reports name these conditions, not only similar ones."""
_PREFIXES = ("NCCL_", "RCCL_", "TORCH_NCCL_")


@rule("BUG005", "warning", covers=(), needs=("versions", "nvidia", "amd", "kernel", "cpu"))
def known_defect(host: JudgedHost) -> Results:
    """The installed release has a known defect that these settings or this hardware trigger.

    Why: Public reports describe a crash, a hang, or wrong results of this release under these conditions. If only
    the hardware or the size of the job matches, or reports are few, the finding is only a hint.
    Example: NCCL_SET_THREAD_NAME=1 with NCCL 2.12.7
    Instead: install a release without the defect, or use the workaround that the finding names
    Source: the issue or release notes that each finding names; https://github.com/NVIDIA/nccl/releases
    """
    if isinstance(host.nccl, Unknown) and next(host.settings.beginning(*_PREFIXES), None) is None:
        return
    known(host.nccl)
    from nccltool.doctor import known_defects  # triage's catalog takes longer to import than all other rules

    for found in known_defects.of(host):
        defect, span = found.defect, found.defect.span
        newer = f"install {span.library} {span.before} or newer" if span.before else ""
        remedy = "; or ".join(part for part in (defect.instead, newer) if part) or "try the newest release"
        message = f"{span.library} {escaped(found.release)}: {defect.what}"
        severity: Severity = "warning" if defect.strength >= _LIKELY and found.is_certain else "info"
        variable = host.variable(found.variable) if found.variable else None
        if variable is None:
            name = f"{span.library} {escaped(found.release)}"
            yield report.host(name, message, remedy, evidence=(defect.url,), severity=severity)
        else:
            yield report.about(variable, message, remedy, evidence=(defect.url,), severity=severity)
