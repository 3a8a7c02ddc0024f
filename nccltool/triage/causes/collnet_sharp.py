"""SHARP (CollNet), the reduction in InfiniBand switches, failed.

## Meaning
NCCL_COLLNET_ENABLE=1 offloads reductions to the InfiniBand switches. The SHARP job could not be created, or it
failed later.

## Impact
NCCL usually falls back to its own algorithms. If it does not, or the plugin crashes, the job dies.

## Verify
    sharp_hello -d mlx5_0:1 -v 3               # on the host; expected: Test Passed
    systemctl status sharp_am                  # on the subnet manager; expected: active (running)
    ibnetdiscover | grep -iE 'SHARP|aggregation'     # expected: aggregation nodes

## Causes
* The aggregation manager is down, or dead jobs still hold its resources.
* Too many jobs use SHARP.
* The versions of plugin, daemon, and switch are incompatible.
* A host cannot reach an aggregation node.

## Fix
Set NCCL_COLLNET_ENABLE=0 for the job. To repair SHARP, clean up stale SHARP jobs, or restart sharp_am. Blast
radius: the variable affects this job; a restart of sharp_am breaks all jobs that use SHARP.

## Escalate
Send the fabric team the sharp_am log.
"""

from nccltool.triage.causes.base import SAYS, Clues, Offender, Timeline

DECIDES = "whether the job works with NCCL_COLLNET_ENABLE=0"
EXPLAINS = frozenset({"app-error", "nccl-bug", "plugin"})

SOURCES = ("transport/coll_net", "sharp_plugin")
SIGNS_OF_FAILURE = {
    "sharp.failed": (SAYS, "SHARP could not be set up"),
    "sharp.crash": (0.8, "the SHARP plugin crashed"),
    "sharp.fallback": (0.6, "CollNet could not be used"),
}


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    return timeline.host_named(*SIGNS_OF_FAILURE) or clues.host_or_rank()
