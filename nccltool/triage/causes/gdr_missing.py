"""GPUDirect RDMA is expected but unavailable.

## Meaning
The NIC cannot access GPU memory: nvidia-peermem and dma-buf are both missing (or GDRCopy, for a library that
needs it). Data is copied through host memory.

## Impact
Bandwidth between hosts drops to half or less, and CPU load rises. Libraries that require GPUDirect RDMA
(NVSHMEM, DeepEP) fail.

## Verify
    lsmod | grep -E 'nvidia_peermem|gdrdrv'    # expected: one line each
    grep -h 'GPU Direct RDMA' LOG | sort -u    # with NCCL_DEBUG_SUBSYS=INIT,NET; expected: Enabled for all HCAs
    grep -c 'GDRDMA' LOG                       # expected: not 0
    ls -l /dev/gdrdrv                          # expected: exists, also in the container

## Causes
* nvidia-peermem was not loaded after a driver update.
* The kernel, the driver, or the NIC does not support dma-buf.
* The container has no access to the device.
* NCCL_NET_GDR_LEVEL=LOC or NCCL_NET_GDR_DISABLE is set.
* An IOMMU or a hypervisor is in the path.
* ROCm has no peer memory support.

## Fix
Run modprobe nvidia-peermem and load it at boot (/etc/modules-load.d) or install the open kernel modules, which
support dma-buf. Blast radius: loading a module does not disturb jobs; drain the host before a driver change.

## Escalate
Send the platform team the kernel, driver, and OFED versions.
"""

import re
from collections.abc import Iterable

from nccltool.triage.causes.base import FITS, HINT, SAYS, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "`lsmod | grep peermem` and the GPU Direct RDMA lines with NCCL_DEBUG_SUBSYS=INIT,NET"

EXPLAINS = frozenset({"none"})

LASTING = True
SIGNS = {
    "gdr.no-peermem": (SAYS, "the nvidia-peermem module is missing"),
    "gdrcopy.missing": (0.85, "GDRCopy is missing"),
    "gdr.failed": (0.7, "the NIC could not use GPU memory"),
    "ib.bad-address": (0.75, "GPU memory could not be registered with the HCA"),
    "ib.register-failed": (FITS, "memory could not be registered with the HCA"),
}


_MODULE = re.compile(r"nvidia[_-]peermem(?:-ctr)?|nv_peer_mem")


def clues(timeline: Timeline) -> Given:
    """Modules that are missing, HCAs that NCCL rules out, connections that lack GDRDMA."""
    off = [event for event in timeline.of("nccl.gdr-hca") if event.get("state") == "Disabled"]
    too_far = timeline.has("nccl.gdr-distance")
    if off:
        strength = FITS if too_far or not _leaves_host(timeline) else HINT if _plain(timeline) else 0.8
        yield Clue(strength, "NCCL cannot use GPUDirect RDMA on an HCA", off[0])
    if (refused := timeline.first("ib.register-failed")) and timeline.has("gdr.buffer"):
        yield Clue(0.85, "GPU memory could not be registered with the HCA", refused)
    if refused and (asked := _not_loaded(timeline)):
        yield Clue(0.85, "memory could not be registered with the HCA, and no peer memory module is loaded", asked)
    if (one := _one_sided(timeline)) and not too_far:
        event = timeline.first("nccl.channel", where=lambda e: e.host == one)
        yield Clue(0.65, f"connections of {one} do not use GPUDirect RDMA, but those of other hosts do", event)
    if _lacks(timeline.transports) and not timeline.failed:
        event = timeline.first("nccl.channel", where=lambda e: "NET/IB" in e.get("via"))
        strength = HINT if too_far or _plain(timeline) else 0.65 if _leaves_host(timeline) else FITS
        yield Clue(strength, "connections over the HCAs do not use GPUDirect RDMA", event)
    if (level := timeline.variable(_LEVEL)) in ("LOC", "0") and _matters(timeline):
        event = timeline.first("nccl.env", "shell.env", where=lambda e: e.get("name") == _LEVEL)
        yield Clue(0.65, f"{_LEVEL}={level} switches GPUDirect RDMA off", event)


def _matters(timeline: Timeline) -> bool:
    """Whether a job that succeeded would have benefited from GPUDirect RDMA."""
    return _leaves_host(timeline) and not timeline.failed and not _plain(timeline)


_ASKS = re.compile(r"\blsmod\b.*\bgrep\b.*?(?P<name>\w*peer_?mem)")


def _not_loaded(timeline: Timeline) -> LogEvent | None:
    """The command that looked for a module of peer memory and, by its silence, found none."""
    if timeline.has("shell.peermem"):
        return None
    return timeline.first("shell.command", where=lambda e: _ASKS.search(e.get("command")))


_LEVEL = "NCCL_NET_GDR_LEVEL"
_WITHOUT = re.compile(r"GeForce|\bGB10\b|\bRTX \d|\bGTX|\bT4\b|Quadro")
"""GPUs that have no GPUDirect RDMA."""


def _leaves_host(timeline: Timeline) -> bool:
    """Whether ranks of several hosts talk to each other, as far as the logs tell."""
    return timeline.nodes > 1 or (timeline.nodes == 1 and not timeline.communicators)


_SPARK = re.compile(r"\bbusId f01000\b")
"""000f:01:00.0: the GPU of a DGX Spark, which has no GPUDirect RDMA
(https://forums.developer.nvidia.com/t/dgx-spark-gpudirect-rdma/348787)."""


def _plain(timeline: Timeline) -> bool:
    begun = timeline.of("nccl.init-start", "nccl.init-complete")
    shown = timeline.first("bench.device", where=lambda e: _WITHOUT.search(e.get("gpu")))
    named = timeline.first("log.mention", where=lambda e: e.get("name") == "GB10")
    return bool(shown or named) or any(_SPARK.search(event.text) for event in begun)


def _lacks(names: Iterable[str]) -> bool:
    """Whether connections go over HCAs, and none of them with GDRDMA."""
    over = [name for name in names if name.startswith("NET/IB")]
    return bool(over) and not any(name.endswith("GDRDMA") for name in over)


def _one_sided(timeline: Timeline) -> str | None:
    """The host that lacks it, where others have it."""
    without = [name for name, host in timeline.hosts.items() if _lacks(host.transports)]
    others_have_it = any(via.endswith("GDRDMA") for via in timeline.transports)
    return without[0] if len(without) == 1 and others_have_it else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The file that is missing, the one HCA that is ruled out, or the host."""
    for event in timeline.of("gdr.no-peermem"):
        if module := _MODULE.search(event.text):
            return Offender("library", module[0])
    named = (event.get("path") for event in timeline.of("gdrcopy.missing", "shell.missing"))
    if paths := [path for path in named if "gdr" in path]:
        return Offender("file", paths[0])
    off = {event.get("hca") for event in timeline.of("nccl.gdr-hca") if event.get("state") == "Disabled"} - {""}
    if len(off) == 1:
        return Offender("device", next(iter(off)))
    if timeline.variable(_LEVEL) in ("LOC", "0"):
        return Offender("variable", _LEVEL)
    if timeline.has("ib.register-failed") and (asked := _not_loaded(timeline)):
        module = _ASKS.search(asked.get("command"))
        return Offender("library", module["name"]) if module else None
    if one := _one_sided(timeline):
        return Offender("host", one)
    if len({event.host for event in timeline.of("nccl.gdr-hca") if event.get("state") == "Disabled"}) > 1 and off:
        return Offender("device", min(off))
    return clues.host_or_rank()
