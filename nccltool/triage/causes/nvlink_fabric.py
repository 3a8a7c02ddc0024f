"""NVLink, NVSwitch, the fabric manager, or NVLink SHARP (NVLS) failed.

## Meaning
GPUs of a host with NVSwitches can be used only when the fabric manager has set the switches up. It has not, or
a link, a switch or a multicast resource failed.

## Impact
CUDA answers "system not yet initialized" (802) on the whole host, or communicators with NVLS cannot be made.

## Verify
    systemctl status nvidia-fabricmanager      # expected: active (running), the version of the driver
    nvidia-smi -q | grep -A3 Fabric            # expected: State: Completed, Status: Success
    nvidia-smi nvlink -s                       # expected: all links with a speed
    dmesg -T | grep -i sxid                    # expected: nothing

## Causes
The fabric manager is not running or of another version than the driver; a GPU reset without restarting it; a
failed link or switch; multicast memory left by a killed process; partitions of a virtualised host.

## Fix
Restart nvidia-fabricmanager, or reboot the host. Blast radius: all jobs on it. NCCL_NVLS_ENABLE=0 lets one job
run without NVLS, slower. Install the fabric manager in exactly the driver's version.

## Escalate
To the vendor with nvidia-bug-report.sh and the fabric manager's log, when links or switches report errors.
"""

from collections.abc import Iterator, Sequence

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Offender, host_or_rank, of_source, signs
from nccltool.triage.timeline import Timeline

DECIDES = "`systemctl status nvidia-fabricmanager` and `nvidia-smi -q | grep -A3 Fabric` on the host"
EXPLAINS = frozenset({"gpu-fault", "app-error", "nccl-bug"})

_SIGNS = {
    "nvls.failed": (SAYS, "multicast memory could not be bound"),
    "cuda.not-ready": (SAYS, "CUDA waits for the fabric to be set up"),
    "nvls.p2p-off": (SAYS, "GPUs with NVLink between them cannot reach each other"),
    "kernel.sxid": (SAYS, "an NVSwitch reported an error"),
    "fabric.manager": (SAYS, "the fabric manager is not working"),
    "nvls.fabric-hint": (TYPICAL, "NCCL supposes the fabric manager or a switch"),
    "fabric.state": (TYPICAL, "the fabric is still being set up"),
    "fabric.link": (0.6, "an NVLink is down or has errors"),
    "nvls.conflict": (FITS, "NVLS was forced where ranks share a GPU"),
}
_NVLINK_XIDS = ("74", "144", "145", "146", "147", "148", "149", "150")


def clues(timeline: Timeline) -> Iterator[Clue]:
    """Errors of switches and links, and CUDA errors inside NVLS."""
    yield from signs(timeline, _SIGNS)
    for event in timeline.of("cuda.failed", "cuda.not-permitted"):
        if "nvls" in event.get("where"):
            yield Clue(strength=0.85, why="CUDA refused what NVLS needs", event=event)
            break
    for event in timeline.of("kernel.xid"):
        if event.get("xid") in _NVLINK_XIDS:
            yield Clue(
                strength=0.95, why=f"the driver reported an NVLink error (Xid {event.get('xid')})", event=event
            )
            break
    yield from of_source(timeline, "transport/nvls")


def offender(timeline: Timeline, clues: Sequence[Clue]) -> Offender | None:
    """The host."""
    found = host_or_rank(clues)
    if found is None or found.kind == "rank":
        for event in timeline.of("bench.failed", "bench.device", "torchrun.exit"):
            if event.host:
                return Offender(kind="host", name=event.host)
    return found
