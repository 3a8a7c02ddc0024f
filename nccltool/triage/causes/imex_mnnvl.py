"""Multi-node NVLink does not work because of the IMEX daemon or its channels.

## Meaning
GPUs in a rack can share memory over NVLink if the IMEX daemons of all hosts are connected and the process has
access to an IMEX channel. One of the two is missing.

## Impact
Communicators that span hosts of the rack cannot be created or fall back to the network.

## Verify
    nvidia-imex-ctl -N                         # expected: UP, all nodes READY
    ls -l /dev/nvidia-caps-imex-channels/      # in the container; expected: channel0, readable
    nvidia-smi -q | grep -A6 Fabric  # on all hosts; expected: the same ClusterUUID and CliqueId, Completed
    cat /etc/nvidia-imex/nodes_config.cfg      # expected: the same on all hosts

## Causes
* nvidia-imex is not running on one host or has a different node list.
* A container or pod has no channel (in Kubernetes, no ComputeDomain).
* A cgroup denies access to the device.
* The job uses hosts from different cliques.

## Fix
Run systemctl start nvidia-imex on all hosts of the domain, with the same node list, and give the container a
channel. Blast radius: a restart of IMEX breaks running jobs in the domain. To make one job use the network
instead, set NCCL_MNNVL_ENABLE=0.

## Escalate
Send the platform team the output of nvidia-imex-ctl -N from every host.
"""

import re

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline, stopped

DECIDES = "`nvidia-imex-ctl -N` on every host of the rack and `ls /dev/nvidia-caps-imex-channels/` in the job"
EXPLAINS = frozenset({"nccl-bug", "app-error", "nvlink-fabric", "p2p-acs-iommu", "gpu-fault"})

SOURCES = ("mnnvl",)
SIGNS = {
    "mnnvl.broken": (0.95, "multi-node NVLink was detected but does not work"),
    "imex.channel": (SAYS, "an IMEX channel is missing"),
    "imex.handle": (0.85, "a fabric handle could not be shared"),
    "imex.daemon": (SAYS, "the IMEX daemon is not working"),
    "mnnvl.imex": (0.85, "an error message mentions IMEX"),
    "mnnvl.unsupported": (TYPICAL, "multi-node NVLink was requested but is not available"),
    "cuda.not-permitted": (0.6, "CUDA is not permitted to share memory between processes"),
}
SIGNS_OF_FAILURE = {"mnnvl.import": (TYPICAL, "another host's memory could not be imported over NVLink")}
_IN_CLIQUES = re.compile(r"(?i)mnnvl|imex|fabrichandle")
"""Functions of NCCL that deal with NVLink between hosts."""
_OF_PEERS = re.compile(r"transport/p2p|mnnvl|include/alloc")
"""Sources that share memory between hosts."""


def clues(timeline: Timeline) -> Given:
    """Errors of IMEX, and CUDA errors on connections over multi-node NVLink."""
    if timeline.failed and (down := stopped(timeline, "imex")):
        yield Clue(TYPICAL, "the IMEX service is not running", down)
    failed = timeline.first("cuda.failed", "cuda.not-permitted", "cuda.invalid-device")
    crashed = timeline.first("app.nccl-crash", "job.stack", where=lambda e: _IN_CLIQUES.search(e.text))
    if crashed and timeline.has("app.segfault"):
        yield Clue(0.8, "the process crashed where NCCL sets up multi-node NVLink", crashed)
    cliques = {event.get("own") or event.get("clique") for event in timeline.of("fabric.clique")}
    foreign = timeline.first(
        "cuda.failed", "app.exception", "cuda.bad-call", "cuda.invalid-device", "mnnvl.import"
    )
    if len(cliques) > 1 and foreign and timeline.failed:
        yield Clue(0.85, "ranks are in different NVLink cliques, and CUDA could not share memory", foreign)
    if timeline.has("nccl.mnnvl") and failed and "p2p" in failed.get("where"):
        yield Clue(0.8, "CUDA could not share memory between GPUs where multi-node NVLink is in use", failed)
    elif timeline.has("nccl.mnnvl") and (event := timeline.first("cuda.failed", "cuda.not-permitted")):
        yield Clue(TYPICAL, "CUDA failed where multi-node NVLink is in use", event)
    if "P2P/MNNVL" in timeline.transports and (event := timeline.first("cuda.failed", "nccl.warning")):
        strength = 0.8 if _OF_PEERS.search(event.get("where")) else FITS
        yield Clue(strength, "CUDA failed where connections use multi-node NVLink", event)


_NO_UNIT = re.compile(r"(?i)\bunit nvidia-imex\S* (?:could not be found|is masked|not found)")
_CHANNELS = re.compile(r"/dev/nvidia-caps-imex-channels[\w/]*")


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The channel that is missing, the daemon that does not work, else the host."""
    if gone := timeline.part("host", "imex.daemon", name="node"):
        return gone
    absent = timeline.first("imex.daemon", where=lambda e: _NO_UNIT.search(e.text))
    for event in timeline.of("imex.channel") if absent is None else ():
        if path := _CHANNELS.search(event.text):
            return Offender("file", path[0].rstrip("/"))
    for event in timeline.of("imex.daemon", "mnnvl.imex"):
        if service := re.search(r"nvidia-imex|compute-?domain-daemon", event.text):
            return Offender("process", service[0])
    asked = timeline.first("shell.command", where=lambda e: "nvidia-imex" in e.text)
    return clues.host_or_rank() or (Offender("process", "nvidia-imex") if asked else None)
