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
from nccltool.triage.timeline import expectations

DECIDES = "bandwidth of ib_write_bw between the same hosts, compared with all_reduce_perf"
EXPLAINS = frozenset({"none", "other"})

_SLOW_BYTES_PER_S = 6.25e9
"""Half of 100 Gbit/s: the slowest RDMA NIC that GPU hosts have today. Sizes under 64 MiB do not show bandwidth."""
_LARGE = 64 << 20
_LONG_STEP_S = 10.0
"""A step of a healthy job on several hosts takes a few seconds: longer ones wait for something."""
_SHORT_STEP_S = 1.0
"""Steps of a job on several hosts that does not wait for its network."""
_OF_FABRICS = re.compile(r"\b(?:A100|A800|H100|H200|H800|H20|GH200|B200|B300|GB200|GB300|MI2\d\dX?|MI3\d\dX?)\b")
"""GPUs whose hosts are sold with RDMA NICs."""
_OF_SMALL_HOSTS = re.compile(r"\b(?:T4|L4|A10G)\b")
"""GPUs whose hosts may have a NIC of 25 Gbit/s (https://aws.amazon.com/ec2/instance-types/g4/)."""


def clues(timeline: Timeline) -> Given:
    """Detours that NCCL names, and bandwidth far below the network's."""
    if timeline.failed or timeline.has("job.judged-good"):
        return
    yield from _sockets(timeline)
    yield from _settings(timeline)
    over_net = timeline.over_net_inside_a_host()
    if over_net and any(timeline.variable(name) in values for name, values, _ in _DETOURS):
        yield Clue(0.75, "GPUs of one host exchange data over the network", over_net)
    yield from _told_to_wait(timeline)
    if event := timeline.first("shell.pcie-slow", where=_is_narrow):
        yield Clue(0.6, "a PCIe link runs below what the device can do", event)
    if far := timeline.first("nccl.gdr-distance", where=lambda e: e.get("state") == "Disabled"):
        yield Clue(TYPICAL, "GPUDirect RDMA is off: GPU and NIC are too far apart", far)
    if event := _told_slow(timeline):
        yield Clue(TYPICAL, f"{event.get('busbw')} GB/s between hosts over sockets", event)
    looked = timeline.first("shell.tool")
    if looked and timeline.has("bench.row", "job.bandwidth") and not _is_ordinary(timeline):
        yield Clue(0.55, "the log shows measurements and commands that look for a bottleneck", looked)
    if event := _slow(timeline):
        yield Clue(0.75, f"{event.get('busbw')} GB/s is less than half of a 100 Gbit/s NIC", event)
    elif event := _slow_for_its_gpus(timeline):
        yield Clue(
            TYPICAL, f"{event.get('busbw')} GB/s between hosts is a fraction of what such GPUs' NICs reach", event
        )
    if timeline.has("nccl.simple-order"):
        yield Clue(0.3, "NCCL found no good topology graph", timeline.first("nccl.simple-order"))
    if "SHM" in timeline.transports:
        event = timeline.first("nccl.channel", where=lambda e: re.search("SHM|shared", e.get("via")))
        strength = FITS if timeline.has("nccl.p2p-disabled") or timeline.variable("NCCL_P2P_DISABLE") else HINT
        yield Clue(strength, "GPUs on one host exchange data through host memory", event)


def _is_narrow(event: LogEvent) -> bool:
    """Whether a link has at most half of what the device can do, and not for a host one generation older."""
    if not event.get("can"):
        return True
    is_older = event.get("lanes") == event.get("most") != ""
    share = float(event.get("has")) / float(event.get("can"))
    return share < 0.45 if is_older else share <= 0.5


def _is_ordinary(timeline: Timeline) -> bool:
    """Whether hosts reach what their PCIe or RDMA does, and nothing says that more was expected."""
    best = _best(timeline)
    told = timeline.has("bench.below", "bench.wanted", "shell.pcie-slow", "shell.note", "job.nothing-more")
    several = timeline.nodes > 1 or len({event.get("node") for event in timeline.of("bench.device")}) > 1
    several = (
        several or any(name.startswith("NET/") for name in timeline.transports) or timeline.has("shell.verbs")
    )
    if best is None or told:
        return False
    if not several:
        return float(best.get("busbw")) * 1e9 >= _OF_PCIE
    rdma = bool(timeline.networks) and not any("Socket" in name for name in timeline.networks)
    prepared = all(timeline.before(tool, best) for tool in timeline.of("shell.tool"))
    return rdma and prepared and float(best.get("busbw")) * 1e9 >= _SLOW_FOR_BASEBOARDS


_OF_PCIE = 10e9
"""Bytes per second: what a PCIe 4.0 x16 link leaves of its 32 GB/s where data pass through host memory twice."""


def _told_to_wait(timeline: Timeline) -> Given:
    """What a program says itself about its speed."""
    if event := timeline.first("job.utilization", where=lambda e: float(e.get("percent")) < _LOW_UTILIZATION):
        yield Clue(FITS, f"the job uses {event.get('percent')} % of its GPUs' compute", event)
    if event := timeline.first("job.split", where=_waits_for_data):
        yield Clue(TYPICAL, "a step takes longer to communicate than to compute", event)
    one = timeline.first(
        "nccl.env", "shell.env", where=lambda e: e.get("name") == "NCCL_IB_HCA" and e.get("value").isalnum()
    )
    if one and timeline.has("bench.below", "bench.wanted"):
        yield Clue(
            TYPICAL, f"NCCL_IB_HCA={one.get('value')} allows one HCA, and less was measured than expected", one
        )
    if short := expectations.missed(timeline):
        told = f"measured {short.measured:g} {short.unit}, expected {short.wanted:g} {short.unit}"
        yield Clue(0.6, told, short.event)
    if event := timeline.first("bench.below"):
        unit = event.get("unit", "GB/s")
        yield Clue(0.6, f"measured {event.get('rate')} {unit}, expected {event.get('wanted')} {unit}", event)


def _waits_for_data(event: LogEvent) -> bool:
    """Whether communication takes longer than the computation that it could hide behind."""
    return float(event.get("comm")) > float(event.get("compute"))


_LOW_UTILIZATION = 5.0
"""Percent of the GPUs' peak: training that is not held up reaches several times as much."""
_DETOURS = (
    ("NCCL_IB_DISABLE", ("1",), "RDMA"),
    ("NCCL_NET", ("Socket", "socket"), "RDMA"),
    ("NCCL_P2P_DISABLE", ("1",), "peer-to-peer"),
    ("NCCL_P2P_LEVEL", ("LOC", "0"), "peer-to-peer"),
    ("NCCL_SHM_DISABLE", ("1",), "shared memory"),
)
"""Variable, values, and the fast path that they switch off."""


def _settings(timeline: Timeline) -> Given:
    """Fast paths that somebody switched off, where GPUs that are sold with a fabric are measured without."""
    measured = timeline.has("bench.row", "job.bandwidth") and bool(
        timeline.first("bench.device", where=lambda e: _OF_FABRICS.search(e.get("gpu")))
    )
    for name, values, path in _DETOURS:
        told = (e for e in timeline.of("nccl.env", "shell.env") if e.get("name") == name)
        event = next(told, None)
        if event and event.get("value") in values and (measured or timeline.over_net_inside_a_host()):
            yield Clue(0.6, f"{name}={event.get('value')} switches {path} off", event)


def _sockets(timeline: Timeline) -> Given:
    several = timeline.nodes > 1 or any(name.startswith("NET/Socket") for name in timeline.transports)
    several = several or timeline.has("shell.verbs")
    several = several or len({event.get("node") for event in timeline.of("bench.device")}) > 1
    if not several or not any("Socket" in name for name in timeline.networks):
        return
    event = timeline.first("nccl.no-ib") or timeline.first("nccl.socket")
    wanted = timeline.variable("NCCL_IB_HCA") or timeline.variable("NCCL_IB_DISABLE") == "0"
    others = any("Socket" not in name for name in timeline.networks)
    if wanted or others or timeline.has("shell.port-active", "shell.verbs"):
        yield Clue(0.8, "RDMA was intended, but NCCL uses sockets", event)
    elif (seconds := timeline.step_seconds) is not None and seconds >= _LONG_STEP_S:
        yield Clue(TYPICAL, f"hosts communicate over sockets, and a step takes {seconds:.1f} s", event)
    elif slow := _slow_over_sockets(timeline):
        yield Clue(TYPICAL, f"sockets between hosts with {slow.get('gpu')} reach a fraction of a NIC", event)
    elif (best := _best(timeline)) and float(best.get("busbw")) * 1e9 < _SLOW_BYTES_PER_S:
        yield Clue(0.6, f"sockets between hosts reach only {best.get('busbw')} GB/s", best)
    else:
        fast = seconds is not None and seconds < _SHORT_STEP_S
        ended = timeline.has("job.completed") or not _is_doubted(timeline)
        fast = fast or (seconds is None and timeline.has("job.progress") and ended)
        yield Clue(0.3 if fast or not timeline.networks_meet else 0.6, "hosts communicate over sockets", event)


def _is_doubted(timeline: Timeline) -> bool:
    """Whether a user looked for a fault, or expected more bandwidth."""
    return timeline.has("shell.tool", "shell.note", "job.nothing-more", "bench.below", "bench.wanted", "job.split")


def _best(timeline: Timeline) -> LogEvent | None:
    """The fastest row of a large message."""
    rows = [event for event in timeline.of("bench.row") if int(event.get("bytes")) >= _LARGE]
    return max(rows, key=lambda event: float(event.get("busbw")), default=None)


def _told_slow(timeline: Timeline) -> LogEvent | None:
    """What a program measured itself, of large messages between hosts over sockets."""
    over = any(name.startswith("NET/Socket") for name in timeline.transports)
    return timeline.first(
        "job.bandwidth", where=lambda e: over and float(e.get("busbw")) * 1e9 < _SLOW_BYTES_PER_S and _is_large(e)
    )


def _is_large(event: LogEvent) -> bool:
    scale = {"M": 1 << 20, "G": 1 << 30}[event.get("unit")]
    return int(event.get("bytes")) * scale >= _LARGE


def _slow_over_sockets(timeline: Timeline) -> LogEvent | None:
    """The line of a GPU whose hosts have RDMA NICs, where no large message reaches half of the slowest one."""
    rows = [event for event in timeline.of("bench.row") if int(event.get("bytes")) >= _LARGE]
    if not rows or max(float(event.get("busbw")) for event in rows) * 1e9 >= _SLOW_BYTES_PER_S:
        return None
    return timeline.first("bench.device", where=lambda e: _OF_FABRICS.search(e.get("gpu")))


def _slow(timeline: Timeline) -> LogEvent | None:
    """The best row of large messages, if RDMA is in use between hosts and it is slow all the same."""
    rdma = any(not name.startswith("Socket") for name in timeline.networks)
    several = timeline.nodes > 1 or any(name.startswith("NET/") for name in timeline.transports)
    rows = [event for event in timeline.of("bench.row") if int(event.get("bytes")) >= _LARGE]
    gpus = [event.get("gpu") for event in timeline.of("bench.device")]
    if not rows or not rdma or not several or (gpus and all(map(_OF_SMALL_HOSTS.search, gpus))):
        return None
    best = max(rows, key=lambda event: float(event.get("busbw")))
    return best if float(best.get("busbw")) * 1e9 < _SLOW_BYTES_PER_S else None


_OF_BASEBOARDS = re.compile(r"\bH100 80GB HBM3|\bH200\b(?! NVL)|\bG?B[23]00\b")
_SLOW_FOR_BASEBOARDS = 20e9
"""Bytes per second: a fifth of the four 200 Gbit/s NICs of the smallest such machine (a3-highgpu)."""


def _slow_for_its_gpus(timeline: Timeline) -> LogEvent | None:
    """The best row of large messages between hosts whose GPUs come on baseboards with a NIC for each."""
    devices = [event for event in timeline.of("bench.device") if _OF_BASEBOARDS.search(event.get("gpu"))]
    best = _best(timeline)
    if best is None or len({event.get("node") for event in devices} - {""}) < 2:
        return None
    return best if float(best.get("busbw")) * 1e9 < _SLOW_FOR_BASEBOARDS else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The interface that was taken instead, or the host where RDMA is off."""
    for name, values, _ in _DETOURS:
        if timeline.variable(name) in values:
            return Offender("variable", name)
    hcas = timeline.variable("NCCL_IB_HCA")
    if hcas and (timeline.has("bench.below", "bench.wanted") or _names_none(timeline, hcas)):
        return Offender("variable", "NCCL_IB_HCA")
    wanted = timeline.variable("NCCL_NET_PLUGIN")
    if wanted and wanted != "none" and timeline.has("nccl.socket") and not timeline.has("plugin.loaded"):
        return Offender("variable", "NCCL_NET_PLUGIN")
    strongest = max(clues, key=lambda clue: clue.strength, default=None)
    by_socket = strongest and strongest.event and strongest.event.kind in ("nccl.no-ib", "nccl.socket")
    missing = timeline.first("nccl.no-verbs")
    if (by_socket or missing) and not (missing and _has_hcas(timeline)) and (taken := _interface(timeline)):
        return taken
    if missing:
        library = re.search(r"libibverbs\.so", missing.text)
        return Offender("library", library[0] if library else "libibverbs")
    return clues.host_or_rank()


_HCA = re.compile(
    r"(?:mlx|mthca|bnxt_re|irdma|i40iw|ib|roce|rdmap|efa|hfi|qib|qedr|ionic|hns|erdma|mana|cxgb|siw|rxe)"
)
"""How Linux (drivers/infiniband) names RDMA devices, and how udev renames them (kernel-boot/rdma_rename.c of
rdma-core)."""


def _names_none(timeline: Timeline, hcas: str) -> bool:
    """Whether NCCL found no RDMA device where names are asked for that no driver gives, as those of interfaces."""
    asked = hcas.lstrip("^=").split(",")
    return timeline.has("nccl.no-ib") and not any(map(_HCA.match, asked))


_OF_RDMA = re.compile(r"infiniband|\bib(?:stat|v)|\b(?:mlx[45]_|bnxt_re|irdma|rocep)\w*\d")


def _has_hcas(timeline: Timeline) -> bool:
    """Whether somebody looked at RDMA devices or chose some: a missing library keeps NCCL from them."""
    return any(_OF_RDMA.search(event.text) for event in timeline.everything() if event.kind != "nccl.no-verbs")


_FIRST = re.compile(r"\[0\](?P<name>[^\s:]+):")


def _interface(timeline: Timeline) -> Offender | None:
    """The interface that the sockets of NCCL use first, where they are its only network."""
    if any("Socket" not in name for name in timeline.networks):
        return None
    used = timeline.first("nccl.socket", where=lambda e: _FIRST.search(e.get("interfaces")))
    if used and (name := _FIRST.search(used.get("interfaces"))):
        return Offender("interface", name["name"])
    return timeline.part("interface", "nccl.bootstrap", name="interface")
