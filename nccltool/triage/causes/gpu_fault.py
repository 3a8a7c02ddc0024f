"""A GPU failed: Xid, ECC, illegal access, fallen off the bus.

## Meaning
The driver reported an error of a GPU, or a kernel on it made an access that is not allowed. What the other
ranks report are consequences.

## Impact
The rank on this GPU dies or hangs, and its job with it. After an uncorrectable error or a GPU that is gone,
every job on it fails until it is reset or replaced.

## Verify
    dmesg -T | grep -iE 'xid|nvrm|fallen off'          # on the host; expected: nothing since the job began
    nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT  # expected: no pending, no uncorrectable
    dcgmi diag -r 3                                    # expected: Pass; not while a job runs
    CUDA_LAUNCH_BLOCKING=1 COMMAND                     # an illegal access always at the same kernel: the program

## Causes
Memory or link errors of the GPU; overheating or power; a driver defect; for illegal accesses (Xid 13, 31)
usually a kernel of the program.

## Fix
Drain the host; reset the GPU (nvidia-smi --gpu-reset) or reboot. Blast radius: all jobs on the host. If the
same GPU fails again, replace it. If an Xid 13 or 31 follows the program to another GPU, it is the program.

## Escalate
To the hardware vendor with nvidia-bug-report.sh, when it comes again after a reset.
"""

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline
from nccltool.triage.logs.kernel import NVLINK_XIDS

DECIDES = "the kernel log of the host (Xid) and `nvidia-smi -q -d ECC` for the GPU"
EXPLAINS = frozenset({"app-error", "nccl-bug"})

SIGNS = {
    "kernel.gpu-lost": (0.95, "a GPU is gone from the bus"),
    "kernel.amdgpu": (0.85, "the driver of an AMD GPU reported a fault"),
    "kernel.ecc": (SAYS, "a GPU has uncorrectable memory errors"),
    "cuda.ecc": (0.95, "CUDA reports an uncorrectable ECC error"),
    "cuda.illegal": (0.75, "a kernel made an illegal memory access"),
    "cuda.launch": (TYPICAL, "a kernel failed"),
    "cuda.xid-hint": (TYPICAL, "CUDA reports an error of the device"),
    "kernel.aer": (FITS, "the kernel saw PCIe errors that were not corrected"),
}
_OF_PROGRAMS = ("13", "31", "43", "45", "68", "69")
"""Xids that a program can cause: kernel exceptions, page faults, and what follows from them."""
_OF_NO_CAUSE = ("unknown error", "initialization error", "hardware stack error")


def clues(timeline: Timeline) -> Given:
    if event := timeline.first("kernel.xid", where=lambda e: e.get("xid") not in NVLINK_XIDS):
        strength = TYPICAL if event.get("xid") in _OF_PROGRAMS else 0.95
        yield Clue(strength, f"the driver reported Xid {event.get('xid')}", event)
    if event := timeline.first("cuda.failed", where=lambda e: e.get("error").startswith(_OF_NO_CAUSE)):
        yield Clue(FITS, f"CUDA answered {event.get('error')!r}", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GPU by its PCI address, else the rank."""
    named = timeline.part("gpu", "kernel.gpu-lost", "kernel.xid", "kernel.ecc", "kernel.amdgpu", name="gpu")
    return named or clues.rank_or_host()
