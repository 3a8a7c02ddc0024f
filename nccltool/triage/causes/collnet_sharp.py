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

import re

from nccltool.triage.causes.base import SAYS, Clue, Clues, Given, Offender, Timeline

DECIDES = "whether the job works with NCCL_COLLNET_ENABLE=0"
EXPLAINS = frozenset({"none", "app-error", "nccl-bug", "plugin", "env-invalid", "preempted"})

SOURCES = ("transport/coll_net", "sharp_plugin")
SIGNS_OF_FAILURE = {
    "sharp.failed": (SAYS, "SHARP could not be set up"),
    "sharp.crash": (0.8, "the SHARP plugin crashed"),
    "sharp.fallback": (0.6, "CollNet could not be used"),
}


_ASKING = re.compile(
    r"NCCL_COLLNET_ENABLE[= ]1|NCCL_ALGO=\S*[Cc]oll[Nn]et|UCC_TL_SHARP_TUNE|UCC_(?:CL_BASIC_)?TLS[= ]\S*sharp"
    r"|HCOLL_ENABLE_SHARP[= ][1-4]|OMPI_UCC_CL_BASIC_TLS[= ]\S*sharp"
)


def clues(timeline: Timeline) -> Given:
    """What the run went on without, although it was asked for."""
    asked = timeline.variable("NCCL_COLLNET_ENABLE") == "1" or timeline.first(
        "shell.command", where=lambda e: _ASKING.search(e.text)
    )
    if asked and timeline.failed:
        none_left = timeline.first("nccl.no-algorithm", where=lambda e: "ollNet" in e.text)
        stopped = timeline.hung or timeline.first("job.interrupted", "job.time-limit", "job.stalled")
        if none_left:
            yield Clue(0.95, "CollNet was requested but does not support this operation", none_left)
        elif stopped and not timeline.steps_before:
            yield Clue(0.6, "SHARP was requested, and the first call did not end", stopped)
    elif asked and (event := timeline.first("sharp.failed", "sharp.fallback")):
        yield Clue(SAYS, "CollNet was requested, but the run continued without it", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    if found := timeline.part("device", "sharp.failed", name="hca"):
        return found
    if timeline.has("nccl.no-algorithm") and timeline.variable("NCCL_COLLNET_ENABLE"):
        return Offender("variable", "NCCL_COLLNET_ENABLE")
    return timeline.host_named(*SIGNS_OF_FAILURE) or clues.host_or_rank()
