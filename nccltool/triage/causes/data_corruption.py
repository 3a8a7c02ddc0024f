"""A checked result is wrong, and no error preceded it.

## Meaning
A test or the program found a result that differs from its expected value: #wrong is above 0, or a checksum failed.

## Impact
Do not trust any result that these hosts have produced since the last good check. Nothing crashes.

## Verify
    nccltool probe --nodes 2 --check 10        # expected: wrong 0; otherwise it names the rank and operation
    NCCL_P2P_DISABLE=1 all_reduce_perf -c 1 -n 100     # if it ends with 0 wrong, peer-to-peer is the cause
    NCCL_NET_GDR_LEVEL=LOC all_reduce_perf -c 1 -n 100 # if it ends with 0 wrong, GPUDirect RDMA is the cause
    nvidia-smi -q -d ECC                       # expected: no uncorrectable errors

## Causes
* Peer-to-peer or GPUDirect traffic goes through an IOMMU.
* A NIC or switch reorders packets where order is required.
* The GPU memory has no ECC.
* One NCCL version has a defective algorithm; try NCCL_PROTO=Simple.
* The program reads a buffer before the collective is complete.

## Fix
Drain the hosts and test them in pairs until the faulty path is found. Blast radius: these hosts. Checkpoints
written since the last good check are suspect.

## Escalate
Inform the owners of the hosts and of the results immediately.
"""

import re

from nccltool.triage.causes.base import FITS, Clue, Clues, Given, Offender, Timeline

DECIDES = "`nccltool probe --nodes 2 --check 10` on each pair of hosts, with and without NCCL_P2P_DISABLE=1"
EXPLAINS = frozenset({"none", "other", "app-error", "straggler-timeout", "peer-exited", "slow-path"})

LASTING = True
SIGNS = {
    "data.wrong": (0.9, "a test counted wrong elements"),
    "data.check-failed": (0.8, "a data check failed"),
}


def clues(timeline: Timeline) -> Given:
    """Checks that failed; against it speaks whatever failed before."""
    wrong = timeline.first("data.wrong", "data.check-failed")
    first = next((e for e in timeline.failures() if e.family not in ("data", "app")), None)
    if wrong and first and timeline.before(first, wrong):
        yield Clue(-FITS, "a different failure came first", first)


_CHOICES = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE")
"""Variables that choose the code that moves the data."""


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    chosen = next(filter(timeline.variable, _CHOICES), None)
    if chosen and timeline.has("data.wrong"):
        return Offender("variable", chosen)
    only = Offender("host", timeline.host_names[0]) if len(timeline.host_names) == 1 else None
    tested = {event.get("node") for event in timeline.of("bench.device")} - {""}
    if differing := _differing(clues):
        return differing
    return (
        clues.host_or_rank()
        or (Offender("host", tested.pop()) if len(tested) == 1 else None)
        or timeline.part("parameter", "data.check-failed", name="name")
        or only
    )


_DIFFERS = re.compile(
    r"(?i)\b(?:rank[ :=#]{0,2}(?P<rank>\d{1,5})|(?P<host>[a-z][\w.-]*-?\d+)) "
    r"(?:differs|deviates|diverges|disagrees)\b"
)


def _differing(clues: Clues) -> Offender | None:
    """Whom a check says to differ from the others, rather than who made the check."""
    for event in clues.proofs():
        if match := _DIFFERS.search(event.text):
            return Offender("rank", match["rank"]) if match["rank"] else Offender("host", match["host"])
    return None
