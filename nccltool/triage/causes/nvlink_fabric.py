"""NVLink, NVSwitch, the fabric manager, or NVLink SHARP (NVLS) failed.

## Meaning
On a host with NVSwitches, GPUs are usable only after the fabric manager has configured the switches. It has not
done so, or a link, a switch, or a multicast resource failed.

## Impact
CUDA returns "system not yet initialized" (802) on the whole host, or communicators with NVLS cannot be created.

## Verify
    systemctl status nvidia-fabricmanager      # expected: active (running), the version of the driver
    nvidia-smi -q | grep -A3 Fabric            # expected: State: Completed, Status: Success
    nvidia-smi nvlink -s                       # expected: a speed for every link
    dmesg -T | grep -i sxid                    # expected: nothing

## Causes
* The fabric manager is not running, or its version differs from the driver's.
* A GPU was reset, but the fabric manager was not restarted.
* A link or switch failed.
* A killed process did not release its multicast memory.
* The partitions of a virtualized host are misconfigured.

## Fix
Run systemctl restart nvidia-fabricmanager or reboot the host. Blast radius: all jobs on the host. Install the
fabric manager version that exactly matches the driver. With NCCL_NVLS_ENABLE=0, a job runs without NVLS, but more
slowly.

## Escalate
If links or switches report errors, send the vendor the output of nvidia-bug-report.sh and the fabric manager's
log.
"""

import re

from nccltool.triage.causes.base import (
    FITS,
    OVERCOME,
    SAYS,
    TYPICAL,
    Clue,
    Clues,
    Given,
    LogEvent,
    Offender,
    Timeline,
    stopped,
)
from nccltool.triage.logs.kernel import NVLINK_XIDS
from nccltool.triage.timeline import expectations

DECIDES = "`systemctl status nvidia-fabricmanager` and `nvidia-smi -q | grep -A3 Fabric` on the host"
EXPLAINS = frozenset({"gpu-fault", "app-error", "nccl-bug", "slow-path"})

SOURCES = ("transport/nvls",)
SIGNS = {
    "nvls.failed": (SAYS, "NVLS multicast memory could not be bound"),
    "cuda.nvlink": (SAYS, "CUDA reports an uncorrectable NVLink error"),
    "cuda.multicast": (0.85, "CUDA could not create multicast memory"),
    "cuda.not-ready": (SAYS, "CUDA waits for the fabric manager"),
    "nvls.p2p-off": (SAYS, "GPUs connected by NVLink cannot access each other"),
    "kernel.sxid": (SAYS, "an NVSwitch reported an error"),
    "kernel.gpu-link": (SAYS, "an xGMI link between AMD GPUs had uncorrectable errors"),
    "fabric.manager": (SAYS, "the fabric manager is not working"),
    "nvls.fabric-hint": (TYPICAL, "NCCL suspects the fabric manager or a switch"),
    "fabric.state": (TYPICAL, "the fabric is still initializing"),
    "fabric.link": (0.6, "an NVLink is down or has errors"),
    "nvls.conflict": (FITS, "NVLS was forced where ranks share a GPU"),
}


def clues(timeline: Timeline) -> Given:
    """Errors of switches and links, and CUDA errors inside NVLS."""
    if event := timeline.first(
        "cuda.failed", "cuda.not-permitted", where=lambda e: "nvls" in f"{e.get('where')} {e.text}"
    ):
        yield Clue(0.85, "CUDA rejected a call that NVLS needs", event)
    if event := _stood(timeline):
        yield Clue(TYPICAL, "NCCL stalled while it set up multicast memory", event)
    inactive = timeline.first("fabric.inactive") if timeline.has("fabric.active") else None
    if inactive and (timeline.failed or timeline.has("bench.below") or expectations.missed(timeline)):
        yield Clue(0.75, "a GPU has inactive NVLinks, while others are active", inactive)
    if timeline.failed and (down := stopped(timeline, "fabricmanager")):
        yield Clue(TYPICAL, "the fabric manager service is not running", down)
    if event := timeline.first("kernel.xid", where=lambda e: e.get("xid") in NVLINK_XIDS):
        strength = 0.95 * (OVERCOME if timeline.recovered else 1)
        yield Clue(strength, f"the driver reported an NVLink error (Xid {event.get('xid')})", event)


def _stood(timeline: Timeline) -> LogEvent | None:
    """The last line about multicast memory, if the job stalled and NCCL wrote nothing after it."""
    last = next(iter(timeline.of("nccl.nvls-setup")[-1:]), None)
    if last is None or timeline.hung is None:
        return None
    later = (event for event in timeline.everything() if event.family in ("nccl", "bench", "torch"))
    return None if any(timeline.before(last, event) for event in later) else last


_SERVICE = re.compile(r"[\w-]*nv(?:idia)?-?fabricmanager\b|\bfabric manager\b")
"""The daemon and its service, as a log spells them."""


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GPU that an Xid names, the service that does not run, else the host."""
    if event := timeline.first("kernel.xid", where=lambda e: e.get("xid") in NVLINK_XIDS):
        return Offender("gpu", event.get("gpu"))
    told = (*timeline.of("fabric.manager"), *timeline.of("shell.command"))
    named = [match[0] for event in told if (match := _SERVICE.search(event.text))]
    if named:  # the unit rather than its process, and that rather than what it is called in prose
        return Offender("process", max(named, key=lambda name: ("nvidia" in name, "fabricmanager" in name)))
    found = clues.host_or_rank()
    if found is None or found.kind == "rank":
        return timeline.host_named("bench.failed", "bench.device", "torchrun.exit") or found
    return found
