"""The job works, but over a slow path, such as sockets instead of RDMA.

## Meaning
Nothing failed. NCCL uses a slower path than the hosts offer, or the measured bandwidth is far below that of the
network it uses.

## Impact
Steps take from a few percent longer to ten times as long.

## Verify
    grep -h 'Using network' LOG | sort | uniq -c       # expected: IB or the platform's plugin; not Socket
    grep -ho 'via [A-Z0-9]*/[A-Za-z_0-9]*' LOG | sort | uniq -c     # expected: P2P in a host, NET/IB between hosts
    grep -h 'coll channels' LOG | sort | uniq -c       # expected: the same on all ranks, not 1 or 2 on 8 NICs
    nccltool probe --nodes 2 --op all_reduce           # expected: near the limit that it prints

## Causes
* The container has no RDMA devices (`NET/IB : No device found`).
* NCCL_IB_HCA or NCCL_IB_DISABLE excludes the NICs.
* A NIC is too far from the GPU (distance 3 > 2).
* Peer-to-peer is disabled.
* The NUMA layout or the PCIe slot halves the lanes.
* The network is congested, or an MTU is wrong.

## Fix
Add the RDMA devices to the container (--device /dev/infiniband or an SR-IOV resource), and unset NCCL_IB_DISABLE
and NCCL_IB_HCA. Move NICs closer to their GPUs or set NCCL_NET_GDR_LEVEL=PHB if the topology allows it. Blast
radius: this job.

## Escalate
If all settings are right and the bandwidth is still low, send the fabric team the results of ib_write_bw.
"""

import re

from nccltool.triage.causes.base import FITS, HINT, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "bandwidth of ib_write_bw between the same hosts, compared with all_reduce_perf"
EXPLAINS = frozenset({"none", "other"})

_SLOW_BYTES_PER_S = 6.25e9
"""Half of 100 Gbit/s: the slowest RDMA NIC that GPU hosts have today. Sizes under 64 MiB do not show bandwidth."""
_LARGE = 64 << 20


def clues(timeline: Timeline) -> Given:
    """Detours that NCCL names, and bandwidth far below the network's."""
    if timeline.failed:
        return
    yield from _sockets(timeline)
    if far := timeline.first("nccl.gdr-distance", where=lambda e: e.get("state") == "Disabled"):
        yield Clue(TYPICAL, "GPUDirect RDMA is off: GPU and NIC are too far apart", far)
    if event := _slow(timeline):
        yield Clue(0.75, f"{event.get('busbw')} GB/s is less than half of a 100 Gbit/s NIC", event)
    if timeline.has("nccl.simple-order"):
        yield Clue(0.3, "NCCL found no good topology graph", timeline.first("nccl.simple-order"))
    if "SHM" in timeline.transports:
        event = timeline.first("nccl.channel", where=lambda e: re.search("SHM|shared", e.get("via")))
        strength = FITS if timeline.has("nccl.p2p-disabled") or timeline.variable("NCCL_P2P_DISABLE") else HINT
        yield Clue(strength, "GPUs on one host exchange data through host memory", event)


def _sockets(timeline: Timeline) -> Given:
    several = timeline.nodes > 1 or any(name.startswith("NET/Socket") for name in timeline.transports)
    if not several or not any("Socket" in name for name in timeline.networks):
        return
    event = timeline.first("nccl.no-ib") or timeline.first("nccl.socket")
    wanted = timeline.variable("NCCL_IB_HCA") or timeline.variable("NCCL_IB_DISABLE") == "0"
    others = any("Socket" not in name for name in timeline.networks)
    if wanted or others or timeline.has("shell.port-active"):
        yield Clue(0.8, "RDMA was intended, but NCCL uses sockets", event)
    else:
        yield Clue(0.3, "hosts communicate over sockets", event)


def _slow(timeline: Timeline) -> LogEvent | None:
    """The best row of large messages, if RDMA is in use between hosts and it is slow all the same."""
    rdma = any(not name.startswith("Socket") for name in timeline.networks)
    several = timeline.nodes > 1 or any(name.startswith("NET/") for name in timeline.transports)
    rows = [event for event in timeline.of("bench.row") if int(event.get("bytes")) >= _LARGE]
    if not rows or not rdma or not several:
        return None
    best = max(rows, key=lambda event: float(event.get("busbw")))
    return best if float(best.get("busbw")) * 1e9 < _SLOW_BYTES_PER_S else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The interface that was taken instead, or the host where RDMA is off."""
    strongest = max(clues, key=lambda clue: clue.strength, default=None)
    taken = timeline.first("nccl.bootstrap")
    if taken and strongest and strongest.event and strongest.event.kind in ("nccl.no-ib", "nccl.socket"):
        return Offender("interface", taken.get("interface"))
    return clues.host_or_rank()
