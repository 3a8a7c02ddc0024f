"""A GPU failed, or a kernel made an illegal memory access.

## Meaning
The driver reported a GPU error, or a CUDA kernel made an illegal memory access. Errors on the other ranks are
consequences.

## Impact
The rank on this GPU dies or hangs, and so does the job. After an uncorrectable error, or when the GPU has fallen
off the bus, every job on it fails until it is reset or replaced.

## Verify
    dmesg -T | grep -iE 'xid|nvrm|fallen off'          # on the host; expected: nothing since the job began
    nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT  # expected: no pending or uncorrectable errors
    dcgmi diag -r 3                                    # only while no jobs run; expected: Pass
    CUDA_LAUNCH_BLOCKING=1 COMMAND                     # if the same kernel always fails, the program is the cause

## Causes
* GPU memory or a link has errors.
* The driver has a defect.
* Illegal accesses (Xid 13, 31) usually come from a kernel of the program.

## Fix
Drain the host, then run nvidia-smi --gpu-reset -i GPU, or reboot. Blast radius: all jobs on the host. Replace a
GPU that fails again. If an Xid 13 or 31 follows the program to another GPU, the program is the cause.

## Escalate
If the fault returns after a reset, send the hardware vendor the output of nvidia-bug-report.sh.
"""

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline
from nccltool.triage.logs.kernel import NVLINK_XIDS

DECIDES = "the kernel log of the host (Xid) and `nvidia-smi -q -d ECC` for the GPU"
EXPLAINS = frozenset({"app-error", "nccl-bug"})

LASTING = True
SIGNS = {
    "kernel.gpu-failed": (0.8, "a diagnostic found a GPU fault"),
    "kernel.gpu-lost": (0.95, "a GPU has fallen off the bus"),
    "kernel.gpu-broken": (0.85, "the driver lost control of a GPU"),
    "kernel.amdgpu": (0.85, "the AMD GPU driver reported a fault"),
    "kernel.ecc": (SAYS, "a GPU has uncorrectable memory errors"),
    "cuda.ecc": (0.95, "CUDA reports an uncorrectable ECC error"),
    "kernel.throttled": (TYPICAL, "a GPU slows itself down because of heat or power"),
    "cuda.illegal": (0.75, "a CUDA kernel made an illegal memory access"),
    "cuda.launch": (TYPICAL, "a CUDA kernel failed"),
    "cuda.xid-hint": (TYPICAL, "CUDA reports a device error"),
    "cuda.library": (FITS, "a CUDA library failed on the GPU"),
    "kernel.aer": (FITS, "the Linux kernel logged uncorrected PCIe errors"),
}
SIGNS_OF_FAILURE = {
    "kernel.nvml": (FITS, "NVML or the container cannot use a GPU"),
    "kernel.xid-note": (FITS, "the driver noted a GPU event that does not stop programs"),
}
_OF_PROGRAMS = ("8", "11", "13", "25", "31", "32", "43", "45", "68", "69", "137")
"""Xids that a program can cause: kernel exceptions, page faults, and what follows from them."""
_OF_NO_CAUSE = ("unknown error", "initialization error", "hardware stack error")


def clues(timeline: Timeline) -> Given:
    if event := timeline.first("kernel.xid", where=lambda e: e.get("xid") not in NVLINK_XIDS):
        strength = TYPICAL if event.get("xid") in _OF_PROGRAMS else 0.95
        yield Clue(strength, f"the driver reported Xid {event.get('xid')}", event)
    if (mended := timeline.first("kernel.remapped")) and not timeline.failed:
        yield Clue(-0.6, "the GPU remapped its faulty memory rows, and the job continued", mended)
    if own := timeline.first("app.nccl-kernel"):
        yield Clue(-0.6, "an NCCL kernel accessed memory past its own", own)
    if found := timeline.first("shell.sanitizer"):
        yield Clue(-0.6, "a memory checker found the access in a kernel", found)
    if event := timeline.first("cuda.failed", where=lambda e: e.get("error").startswith(_OF_NO_CAUSE)):
        yield Clue(FITS, f"CUDA returned {event.get('error')!r}", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GPU by its PCI address, else the rank."""
    named = timeline.part("gpu", "kernel.xid", name="gpu") or timeline.part(  # as the kernel's log has it
        "gpu",
        "kernel.gpu-lost",
        "kernel.gpu-failed",
        "kernel.gpu",
        "kernel.ecc",
        "kernel.amdgpu",
        name="gpu",
    )
    return named or clues.rank_or_host()


_OF_KERNELS = frozenset({"13", "31"})
"""Xids of an exception or a page fault in a kernel of the program."""


def remedy(timeline: Timeline) -> str:
    """Of a GPU that no reset reaches, and of faults that are the program's more often than the GPU's."""
    xids = {event.get("xid") for event in timeline.of("kernel.xid")}
    if timeline.has("kernel.gpu-lost") or "79" in xids:
        return (
            "Drain the host and switch its power off and on: a GPU that has left the bus cannot be reset. Then"
            " check its power supply, seat, riser, and temperature, and look for PCIe errors before the fault:"
            " dmesg -T | grep -i aer. Blast radius: all jobs on the host. Replace a GPU that is lost again."
        )
    if xids and xids <= _OF_KERNELS and not timeline.has("kernel.ecc", "cuda.ecc"):
        return (
            "Run the program on another GPU. If the fault follows it, find the access with compute-sanitizer or"
            " CUDA_LAUNCH_BLOCKING=1, and correct the program. If it stays with the GPU, drain the host and run"
            " dcgmi diag -r 3. Blast radius: this job, or all jobs on the host if it is drained."
        )
    return ""
