"""The topology could not be read: a topology file, PCI paths, a hidden /sys.

## Meaning
NCCL reads /sys and NVML, or the files NCCL_TOPO_FILE and NCCL_GRAPH_FILE, to learn how GPUs and NICs are
connected. What it read is incomplete or does not fit the GPUs.

## Impact
Init fails on this host. Where it only warns, NCCL guesses, and can be slow.

## Verify
    echo $NCCL_TOPO_FILE $NCCL_GRAPH_FILE      # expected: empty, or files for exactly this kind of host
    NCCL_TOPO_DUMP_FILE=/tmp/topo.xml COMMAND  # expected: all GPUs and NICs, with their PCI paths
    ls /sys/class/pci_bus /sys/class/net       # in the container; expected: not empty
    nvidia-smi -L                              # expected: the GPUs that the job was given

## Causes
A topology file for another kind of VM, or of another NCCL; a graph file for more GPUs than the job has; a
container that hides /sys or NVML's view of some GPUs; MIG or GPU sharing; a VM that shows no PCI tree.

## Fix
Unset NCCL_GRAPH_FILE and NCCL_TOPO_FILE, or take the file of this platform and version; mount /sys in the
container; give pods whole GPUs. Blast radius: this job.

## Escalate
To the platform's vendor, with the dumped topology.
"""

from nccltool.triage.causes.base import FITS, HINT, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline

DECIDES = "whether it works with NCCL_TOPO_FILE and NCCL_GRAPH_FILE unset, and the dumped topology"

SOURCES = ("graph/(?!tuning)",)
SIGNS_OF_FAILURE = {
    "topology.attribute": (SAYS, "the topology lacks an attribute that NCCL needs"),
    "topology.graph-file": (SAYS, "the graph file names a GPU that the job does not have"),
    "topology.no-device": (0.85, "NVML does not know a GPU that CUDA uses"),
    "topology.no-net": (0.85, "no path from a GPU to a NIC was found"),
    "topology.no-graph": (TYPICAL, "no paths between GPUs were found"),
    "topology.no-net-id": (0.6, "a NIC of the graph is not in the topology"),
    "topology.no-transport": (FITS, "two ranks have no transport between them"),
    "topology.uds": (FITS, "processes of a host cannot reach each other's sockets"),
    "topology.file": (0.8, "a topology file could not be read"),
}
_FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")


def clues(timeline: Timeline) -> Given:
    if not timeline.failed:
        return
    if unread := timeline.first("topology.sysfs"):
        strength = TYPICAL if unread.role == "failure" else HINT
        yield Clue(strength, "a path of /sys could not be read", unread)
    if (event := timeline.first("nccl.simple-order")) and any(map(timeline.variable, _FILES)):
        yield Clue(HINT, "no good graph was found", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if timeline.has("topology.graph-file"):
        return Offender("variable", "NCCL_GRAPH_FILE")
    if timeline.has("topology.attribute", "topology.file"):
        if path := timeline.variable("NCCL_TOPO_FILE"):
            return Offender("file", path.rpartition("/")[2])
        if found := timeline.part("file", "topology.file", name="path"):
            return found
    return clues.host_or_rank()
