"""NCCL could not read the topology of the host.

## Meaning
NCCL learns how GPUs and NICs are connected from /sys and NVML, or from NCCL_TOPO_FILE and NCCL_GRAPH_FILE. This
information is incomplete or does not match the GPUs.

## Impact
Init fails on this host. If NCCL only warns, it guesses the topology and can be slow.

## Verify
    echo $NCCL_TOPO_FILE $NCCL_GRAPH_FILE      # expected: empty or files for exactly this kind of host
    NCCL_TOPO_DUMP_FILE=/tmp/topo.xml COMMAND  # expected: all GPUs and NICs, with their PCI paths
    ls /sys/class/pci_bus /sys/class/net       # in the container; expected: not empty
    nvidia-smi -L                              # expected: the GPUs that the job was given

## Causes
* The topology file is for a different VM type or NCCL version.
* The graph file has more GPUs than the job.
* The container hides /sys or hides some GPUs from NVML.
* The job uses MIG or shared GPUs.
* The VM has no PCI tree.

## Fix
Unset NCCL_GRAPH_FILE and NCCL_TOPO_FILE or use the files for this platform and version. Mount /sys in the
container. Assign whole GPUs to pods. Blast radius: this job.

## Escalate
Send the platform vendor the dumped topology.
"""

from nccltool.triage.causes.base import FITS, HINT, SAYS, TYPICAL, Clue, Clues, Given, Offender, Timeline
from nccltool.triage.timeline import expectations

DECIDES = "whether the job works with NCCL_TOPO_FILE and NCCL_GRAPH_FILE unset, and the dumped topology"

EXPLAINS = frozenset({"none", "slow-path", "gdr-missing", "app-error"})

SOURCES = ("graph/(?!tuning)", r"misc/(?:\w*rsmi|rocm_smi)")
SIGNS_OF_FAILURE = {
    "topology.attribute": (SAYS, "an attribute that NCCL needs is missing from the topology"),
    "topology.graph-file": (SAYS, "the graph file names a GPU that the job does not have"),
    "topology.no-device": (0.85, "NVML does not report a GPU that CUDA uses"),
    "topology.no-net": (0.85, "no path from a GPU to a NIC was found"),
    "topology.no-graph": (TYPICAL, "no paths between GPUs were found"),
    "topology.no-net-id": (0.6, "a NIC in the graph is missing from the topology"),
    "topology.no-transport": (FITS, "two ranks have no transport between them"),
    "topology.uds": (FITS, "processes on one host cannot connect to each other's sockets"),
    "topology.no-smi": (TYPICAL, "RCCL cannot use ROCm SMI, its source for the topology"),
    "topology.file": (0.8, "a topology file could not be read"),
}
_FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")


def clues(timeline: Timeline) -> Given:
    if (event := timeline.first("nccl.narrow")) and any(map(timeline.variable, _FILES)):
        yield Clue(TYPICAL, f"the topology from a file allows only {event.get('bw')} GB/s", event)
    if not timeline.failed:
        yield from _unpaired(timeline)
        return
    if event := timeline.first("topology.no-numa"):
        yield Clue(0.85, "a device has no NUMA node in the topology", event)
    if unread := timeline.first("topology.sysfs"):
        strength = TYPICAL if unread.role == "failure" else HINT
        yield Clue(strength, "a path in /sys could not be read", unread)
    if (event := timeline.first("nccl.simple-order")) and any(map(timeline.variable, _FILES)):
        yield Clue(HINT, "NCCL found no good topology graph", event)


def _unpaired(timeline: Timeline) -> Given:
    """GPUs of one host that do not find each other or their NICs, with a topology file or without."""
    file = next(
        (e for e in timeline.of("nccl.env", "shell.env") if e.get("name") in _FILES and e.get("value")), None
    )
    over_net = timeline.over_net_inside_a_host()
    if over_net and not any(map(timeline.variable, _FORCED)):
        yield Clue(0.75, "GPUs of one host exchange data over the network, and no setting asks for that", over_net)
    without = any(name.startswith("NET/IB") for name in timeline.transports) and not any(
        name.endswith("GDRDMA") for name in timeline.transports
    )
    if file and (without or timeline.has("bench.below") or expectations.missed(timeline)):
        yield Clue(0.65, f"{file.get('name')} is set, and the path that NCCL found is not the fast one", file)


_FORCED = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NET")


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if timeline.has("topology.graph-file"):
        path = timeline.variable("NCCL_GRAPH_FILE")
        return Offender("file", path) if path else Offender("variable", "NCCL_GRAPH_FILE")
    if timeline.has("topology.attribute", "topology.file", "topology.no-numa", "nccl.narrow"):
        if path := timeline.variable("NCCL_TOPO_FILE"):
            return Offender("file", path)
        if found := timeline.part("file", "topology.file", name="path"):
            return found
    if not timeline.failed and (path := next(filter(None, map(timeline.variable, _FILES)), None)):
        return Offender("file", path)
    if found := timeline.part("file", "topology.sysfs", name="path"):
        return found
    return clues.host_or_rank()
