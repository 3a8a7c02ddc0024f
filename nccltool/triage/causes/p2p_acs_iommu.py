"""ACS, an IOMMU, or virtualization breaks peer-to-peer traffic between GPUs or between a GPU and a NIC.

## Meaning
Devices write to each other over PCIe. With ACS request redirection, or an IOMMU that translates addresses, these
writes go up to the root complex and are delayed, blocked, or lost. CUDA reports peer access as available, but it
does not work.

## Impact
Collectives hang, fail with local protection errors (status 4), or deliver wrong data. Every job on this host
that uses PCIe peer-to-peer is affected.

## Verify
    lspci -vvv | grep -i acsctl | grep 'ReqRedir+'
    # on bare metal; expected: nothing on bridges above GPUs and NICs
    cat /proc/cmdline                                  # expected: no iommu=on, or iommu=pt
    nvidia-smi topo -p2p rw                            # expected: OK for every pair
    NCCL_P2P_DISABLE=1 COMMAND                         # if it hangs only without the variable, this is the cause

## Causes
* The firmware enables ACS, or the kernel enables it for an IOMMU.
* The host is a VM, and its devices are passed through one by one.
* The IOMMU of an AMD or Intel host is in translating mode.
* The driver of a consumer GPU does not support peer access.

## Fix
Set NCCL_P2P_DISABLE=1 or NCCL_NET_GDR_LEVEL=LOC as a workaround. Then disable ACS on the bridges (setpci, or in
the BIOS) and boot with iommu=pt. Blast radius: the variables make this job slower; setpci and boot options change
device isolation on the whole host, so drain it first.

## Escalate
Contact the platform team. For a VM, contact the cloud provider, because ACS cannot be changed inside it.
"""

import re

from nccltool.triage.causes.base import FITS, HINT, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline
from nccltool.triage.timeline import work

DECIDES = "whether the command works with NCCL_P2P_DISABLE=1 and `lspci -vvv | grep ReqRedir+`"
EXPLAINS = frozenset({"none", "gpu-fault", "nccl-bug", "preempted"})

SOURCES = ("transport/p2p", r"(?:cuda|rocm)_ipc_\w+\.c")
SIGNS = {
    "kernel.iommu-fault": (SAYS, "the IOMMU blocked a device access"),
    "kernel.acs": (SAYS, "a PCIe port blocked an access (ACS violation)"),
    "ib.local-protection": (0.8, "an HCA could not reach local memory"),
    "cuda.no-peer": (0.8, "CUDA reports no peer access between two GPUs"),
    "cuda.peer-garbled": (0.85, "data that one GPU wrote to another arrived wrong"),
    "cuda.peer-import": (TYPICAL, "the memory of a peer could not be opened"),
}
SIGNS_OF_FAILURE = {
    "shell.acs-on": (0.6, "a PCIe bridge has ACS request redirection enabled"),
    "shell.iommu": (FITS, "an IOMMU translates addresses"),
    "ib.acs-hint": (FITS, "NCCL suspects ACS"),
    "nccl.p2p-disabled": (HINT, "peer-to-peer is disabled between GPUs"),
    "cuda.peer-refused": (FITS, "CUDA rejected peer access"),
    "ib.access-violation": (0.5, "an HCA could not reach memory (access violation)"),
    "iommu.hint": (HINT, "RCCL recommends iommu=pt"),
}
_REFUSED = ("cuda.no-peer", "cuda.peer-import", "cuda.peer-refused")
_GPUS = re.compile(r"\d+\[\w+\] -> \d+\[\w+\]")
_IN_P2P = re.compile(r"(?:^|/)transport/p2p")
_WAITS = (
    *("torch.no-block", "torch.stuck", "job.stalled", "job.interrupted"),
    *("job.time-limit", "job.cancelled", "job.killed", "job.terminated", "job.sigterm"),
)
"""How a wait shows, and how people and schedulers end one."""
_FIRST_CALLS = 3
_LOCAL_PROTECTION = "4"
_WORKAROUNDS = ("NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=LOC", "NCCL_NET_GDR_LEVEL=0", "NCCL_NET_GDR_LEVEL=LOC")


def clues(timeline: Timeline) -> Given:
    """Errors of peer-to-peer, ACS that is on, and runs that work without it."""
    if found := _suspected(timeline):
        why = "GPUs of one host made no progress, and a diagnostic command shows that an IOMMU or ACS is on"
        yield Clue(0.65, why, found)
    if not timeline.failed:
        looked = timeline.first("shell.acs-on")
        if looked and timeline.has("shell.tool"):
            yield Clue(0.6, "a diagnostic command shows a PCIe bridge that redirects requests (ACS)", looked)
        return
    redirected = timeline.first("shell.acs-on", "shell.iommu")
    if redirected and timeline.has("app.nan", "data.check-failed", "data.wrong"):
        yield Clue(TYPICAL, "data is wrong, and a bridge redirects traffic between GPUs", redirected)
    if refused := timeline.first("ib.completion", where=lambda e: e.get("status") == _LOCAL_PROTECTION):
        yield Clue(0.8, "an HCA could not reach local memory (status 4)", refused)
    connected = timeline.has("nccl.rings") or any(name.startswith("P2P") for name in timeline.transports)
    if timeline.hung and connected and _single_host(timeline):
        yield Clue(0.55, "the GPUs of one host connected, and then nothing happened", timeline.hung)
    if connected and _single_host(timeline) and (stuck := _first_collective(timeline)):
        yield Clue(0.6, "no rank of one host completed its first collective", stuck)
    if connected and _single_host(timeline) and (waited := _never_began(timeline)):
        yield Clue(0.6, "the GPUs of one host connected over peer-to-peer, and no step followed", waited)
    if refused := timeline.first("cuda.failed", where=lambda e: _IN_P2P.search(e.get("where"))):
        yield Clue(0.5, "CUDA could not share memory between GPUs", refused)
    if event := _workaround(timeline):
        yield Clue(0.65, f"it works with {event.get('command')[:60]}", event)


_LOOKS = re.compile(r"(?i)\b(?:setpci|amd-vi|iommu|acsctl|dmar)\b")
_NONE_OTHER = frozenset({"job.interrupted", "job.nothing-more", "job.stalled", "job.killed", "kernel.hung"})


def _suspected(timeline: Timeline) -> LogEvent | None:
    """The IOMMU or ACS that somebody looked for and found, where nothing else is said to have failed."""
    asked = timeline.first("shell.command", where=lambda e: _LOOKS.search(e.get("command")))
    other = any(event.kind not in _NONE_OTHER for event in timeline.failures())
    found = timeline.first("shell.iommu", "shell.iommu-on", "shell.acs-on")
    return found if asked and not other and timeline.nodes <= 1 else None


def _first_collective(timeline: Timeline) -> LogEvent | None:
    """The timeout of all ranks in one of their first calls: nobody is late, the data does not arrive."""
    waits = [timeout for timeout in timeline.timeouts if timeout.rank is not None]
    ranks = {timeout.rank for timeout in waits}
    early = bool(waits) and all((timeout.sequence or 99) <= _FIRST_CALLS for timeout in waits)
    return waits[0].event if early and len(ranks) == timeline.world_size else None


def _never_began(timeline: Timeline) -> LogEvent | None:
    """The wait or the end of a job that connected over peer-to-peer, made no step, and failed in no other way."""
    over_peers = any(name.startswith("P2P") for name in timeline.transports)
    moved = timeline.steps_before or timeline.has("bench.row", "job.progress")
    other = any(event.kind not in _WAITS and event.role == "failure" for event in timeline.failures())
    late = work.beside_wait(timeline)
    return timeline.first(*_WAITS) if over_peers and not moved and not other and not late else None


def _single_host(timeline: Timeline) -> bool:
    return len(timeline.hosts) == 1 and all((made.nodes or 1) == 1 for made in timeline.communicators)


def _workaround(timeline: Timeline) -> LogEvent | None:
    """A later run without peer-to-peer, that gave results."""
    failed = timeline.hung or next(iter(timeline.troubles()), None)
    for event in timeline.of("shell.command", "nccl.env"):
        said = event.get("command") or f"{event.get('name')}={event.get('value')}"
        if failed and any(word in said for word in _WORKAROUNDS) and timeline.before(failed, event):
            results = timeline.of("bench.row", "bench.average", "job.completed")
            return event if any(timeline.before(event, row) for row in results) else None
    return None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The HCA that a completion names, else the pair of GPUs, else the host."""
    if found := timeline.part("device", "ib.completion", name="hca"):
        return found
    if timeline.has("ib.completion"):
        used = {hca for host in timeline.hosts.values() for hca in host.hcas}
        if len(used) == 1:
            return Offender("device", used.pop())
    if timeline.has(*_REFUSED) and (pair := _pair(timeline)):
        return Offender("gpu", pair)
    if timeline.has("iommu.hint") and timeline.has("kernel.iommu-fault"):
        return Offender("kernel", "iommu=pt")
    if bridge := _bridge(timeline):
        return Offender("device", bridge)
    found = timeline.host_named("kernel.iommu-fault") or clues.host_or_rank()
    if found and found.kind == "rank":  # it only used what its host has
        found = _any_host(timeline) or found
    if found:
        return found
    for name in ("other", "device"):
        if found := timeline.part("gpu", "kernel.iommu-fault", name=name):
            return found
    return _any_host(timeline)


def _pair(timeline: Timeline) -> str | None:
    """The two GPUs, if the log shows connections between two only."""
    shown = [match[0] for event in timeline.of("nccl.channel") if (match := _GPUS.search(event.text))]
    return min(shown) if shown and len({frozenset(pair.split(" -> ")) for pair in shown}) == 1 else None


def _bridge(timeline: Timeline) -> str | None:
    """The PCIe bridge above the first line that shows redirection."""
    redirected = timeline.first("shell.acs-on")
    above = [event for event in timeline.of("shell.bridge") if redirected and timeline.before(event, redirected)]
    return above[-1].get("device") if above else None


def _any_host(timeline: Timeline) -> Offender | None:
    names = [*timeline.host_names, *(event.get("node") for event in timeline.of("bench.device"))]
    return Offender("host", names[0]) if names else None
