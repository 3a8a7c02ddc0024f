"""A result was checked and is wrong, and nothing else failed first.

## Meaning
A test or the program compared a result with what it must be, and they differ: #wrong above 0, a failed
checksum.

## Impact
Whatever was computed on these hosts since then cannot be trusted. Nothing crashes.

## Verify
    nccltool probe --nodes 2 --check 10        # expected: wrong 0; it names rank and operation
    NCCL_P2P_DISABLE=1 all_reduce_perf -c 1 -n 100     # expected: 0; if so, peer-to-peer is the cause
    NCCL_NET_GDR_LEVEL=LOC all_reduce_perf -c 1 -n 100 # expected: 0; if so, GPUDirect RDMA is the cause
    nvidia-smi -q -d ECC                       # expected: no uncorrectable errors

## Causes
Peer-to-peer or GPUDirect through an IOMMU; a NIC or switch that reorders where it must not; GPU memory without
ECC; a defect of an algorithm in one version (try NCCL_PROTO=Simple); a program that reads a buffer before it is
complete.

## Fix
Take the hosts out until the path is found; test pairs of hosts. Blast radius: these hosts; checkpoints since
the last good check are suspect.

## Escalate
At once, to the owners of the hosts and of the results.
"""

from nccltool.triage.causes.base import FITS, Clue, Clues, Given, Offender, Timeline

DECIDES = "a checked run of each pair of hosts, with and without peer-to-peer"
EXPLAINS = frozenset({"none", "other", "app-error", "straggler-timeout", "peer-exited", "slow-path"})

SIGNS = {
    "data.wrong": (0.9, "a test counted wrong elements"),
    "data.check-failed": (0.8, "a check of the data failed"),
}


def clues(timeline: Timeline) -> Given:
    """Checks that failed; against it speaks whatever failed before."""
    wrong = timeline.first("data.wrong", "data.check-failed")
    first = next((e for e in timeline.failures() if e.family not in ("data", "app")), None)
    if wrong and first and timeline.before(first, wrong):
        yield Clue(-FITS, "something else failed before", first)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    only = Offender("host", timeline.host_names[0]) if len(timeline.host_names) == 1 else None
    return clues.host_or_rank() or timeline.part("host", "bench.device", name="node") or only
