"""InfiniBand or RoCE is misconfigured.

## Meaning
Ranks found each other, but the queue pairs between their HCAs cannot connect, or hosts use different kinds of
network.

## Impact
Multi-host jobs fail when HCAs connect, during init or in the first collective. Every restart fails the same way.

## Verify
    show_gids  # expected: the selected index is RoCE v2 with an IPv4 address, on every host
    ibv_devinfo | grep -E 'hca_id|state|link_layer'    # expected: the same list on all hosts, PORT_ACTIVE
    ib_write_bw -d mlx5_0 -x 3 PEER            # expected: a result for every pair of rails
    cat /sys/class/infiniband/mlx5_0/ports/1/pkeys/0   # expected: the same on all hosts

## Causes
* NCCL_IB_GID_INDEX is correct on only one host or selects RoCE v1.
* Rails are in subnets without a route between them, but NCCL_CROSS_NIC allows cross-rail traffic.
* The NCCL_IB_HCA prefix also matches storage NICs or a NIC without an address.
* An HCA is down on one host, which then uses sockets.
* Devices are not visible in a container.

## Fix
Unset NCCL_IB_GID_INDEX (NCCL 2.21 and later choose the index) or set the index that show_gids prints. List the
exact compute HCAs: NCCL_IB_HCA==mlx5_0,mlx5_1. Blast radius: this job. Changes to addresses, partitions, or routes
affect every job on the fabric.

## Escalate
Send the fabric team the HCA, port, and GID of both ends from the message.
"""

from nccltool.triage.causes.base import (
    FITS,
    HINT,
    SAYS,
    TYPICAL,
    Clue,
    Clues,
    Given,
    LogEvent,
    Offender,
    Timeline,
    refused_by_plugin,
)

DECIDES = "`show_gids` on both hosts and `ib_write_bw -d HCA -x GID_INDEX` between them"

SOURCES = (
    *(
        "transport/net_ib",
        "net_ib/",
        "misc/ibvwrap",
        "ibvwrap",
        "ib_plugin",
        "misc/mlx5dvwrap",
        "verbs",
        "transport/gdaki",
    ),
    r"(?:uct_)?(?:ib|rc|ud|dc|srd|rdmacm|gga)_\w+\.",
)
SIGNS = {
    "ib.qp-failed": (SAYS, "two HCAs could not connect"),
    "ib.mixed": (SAYS, "InfiniBand and RoCE ports are mixed"),
    "ib.gid-missing": (0.85, "an HCA has no usable GID at the index"),
    "ib.partition": (0.85, "the partition key does not match"),
    "ib.no-such-device": (0.8, "a requested HCA is missing"),
    "ib.no-manager": (TYPICAL, "a port waits for the subnet manager"),
    "ib.refused": (FITS, "the remote HCA rejected a request"),
    "ib.command-failed": (0.75, "the firmware of an HCA rejected a command of its driver"),
    "ucx.no-transport": (TYPICAL, "UCX has no RDMA transport to the other process"),
    "ib.open-failed": (FITS, "an HCA could not be opened"),
    "ib.rail-hint": (FITS, "NCCL suspects that the rails are not connected"),
    "ib.gid-hint": (FITS, "NCCL suspects a wrong GID index"),
}
SIGNS_OF_FAILURE = {
    "ib.gid-change": (FITS, "the GID table changed while the job ran"),
    "ib.setup-hint": (FITS, "Open MPI warned of mismatched HCAs or subnets"),
    "ib.absent-hint": (0.75, "Open MPI did not find a requested HCA"),
}
_NAMING = ("ib.qp-failed", "ib.gid-missing", "ib.no-such-device", "ib.open-failed", "ib.completion")
_RETRY_EXCEEDED, _REMOTE = ("12", "13"), ("9", "10", "11")


def clues(timeline: Timeline) -> Given:
    """Connections between HCAs that could not be made, and hosts that chose different networks."""
    if refused := refused_by_plugin(timeline):
        yield Clue(-FITS, "a plugin set up the queue pair", refused)
    kinds = {name.split("/")[0].startswith("Socket") for name in timeline.networks}
    if timeline.failed and len(kinds) > 1:
        event = timeline.first("nccl.no-ib", "nccl.socket", "nccl.network")
        strength = SAYS if timeline.has("nccl.wrong-type") else TYPICAL
        yield Clue(strength, "some hosts use RDMA, others sockets", event)
    yield from _under_ucx(timeline)
    yield from _without_hcas(timeline)
    local = timeline.first("ib.gid-chosen", where=lambda e: e.get("value").startswith("fe80"))
    if local and timeline.has("ib.completion", "ucx.link", "ib.qp-failed"):
        yield Clue(0.75, f"GID index {local.get('gid')} is a link-local address, which is not routed", local)
    changed, refused = timeline.first("ib.gid-change"), timeline.first("ib.completion", "ib.qp-failed")
    if changed and refused and timeline.before(changed, refused):
        yield Clue(0.85, "connections failed after the GID table had changed", changed)
    for event in timeline.of("ib.completion"):
        if event.get("status") in _RETRY_EXCEEDED and not timeline.had_worked:
            yield Clue(0.65, "packets were not acknowledged, and nothing had worked before", event)
            break
        if event.get("status") in _REMOTE:
            yield Clue(FITS, "the remote HCA rejected a request", event)
            break
    if event := _empty_gid(timeline):
        yield Clue(0.85, f"GID index {event.get('index')} was requested but is empty", event)
    if event := _mtu(timeline):
        yield Clue(0.85, "hosts use different MTUs on their HCAs", event)
    if event := _uneven(timeline):
        yield Clue(FITS, "hosts have different numbers of HCAs", event)
    if timeline.failed and timeline.has("shell.port-down") and timeline.has("nccl.no-ib"):
        yield Clue(HINT, "a port is down", timeline.first("shell.port-down"))


def _without_hcas(timeline: Timeline) -> Given:
    """NCCL's own network over HCAs, which somebody asked for where it finds none."""
    if none := timeline.first("plugin.none", where=lambda e: e.get("name").upper() == "IB"):
        chosen = timeline.variable("NCCL_IB_HCA")
        told = "NCCL was told to use the network IB but found no HCA"
        told = f"NCCL_IB_HCA={chosen} leaves NCCL without an HCA" if chosen else told
        yield Clue(SAYS if chosen else TYPICAL, told, none)


def _under_ucx(timeline: Timeline) -> Given:
    """UCX's endpoints that got no answer before anything had worked."""
    stopped = timeline.first("ucx.link")
    if stopped is None or timeline.had_worked:
        return
    if _ucx_index(timeline):
        yield Clue(0.85, "packets were not acknowledged with the GID index that was chosen", stopped)
    elif stopped.get("layer") == "RoCE":
        yield Clue(TYPICAL, "packets were not acknowledged over RoCE when the job began", stopped)


def _ucx_index(timeline: Timeline) -> LogEvent | None:
    """The command that chose a GID index for UCX."""
    return timeline.first("shell.command", where=lambda e: "UCX_IB_GID_INDEX=" in e.get("command"))


def _empty_gid(timeline: Timeline) -> LogEvent | None:
    """The row of a table of GIDs that NCCL_IB_GID_INDEX asks for, where it has no address."""
    asked = timeline.variable("NCCL_IB_GID_INDEX")
    rows = timeline.of("shell.gid") if timeline.failed and asked else ()
    return next((row for row in rows if row.get("index") == asked and not row.get("gid").strip("0:")), None)


def _mtu(timeline: Timeline) -> LogEvent | None:
    """The line of the smallest MTU, where the ends of connections have several."""
    if not timeline.failed:
        return None
    for kind in ("ib.qp", "ib.active-mtu"):
        rows = timeline.of(kind)
        if len({event.get("mtu") for event in rows}) > 1:
            return min(rows, key=lambda event: int(event.get("mtu")))
    return None


def _uneven(timeline: Timeline) -> LogEvent | None:
    """The line of a host that uses fewer HCAs than others, or NCCL's own remark."""
    if not timeline.failed:
        return None
    counts = {name: len(host.hcas) for name, host in timeline.hosts.items() if host.hcas}
    few = min(counts, key=lambda name: counts[name], default=None)
    if few is None or counts[few] == max(counts.values()):
        return timeline.first("ib.uneven")
    return timeline.first("nccl.ib", where=lambda e: e.host == few)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The GID index if it was forced, else the HCA that the message names, else the host."""
    if (event := _mtu(timeline)) and event.host:
        return Offender("host", event.host)
    unrouted = timeline.first("ib.qp-failed", where=lambda e: e.get("error").startswith("Network is unreachable"))
    if unrouted and timeline.variable("NCCL_IB_HCA"):
        return Offender("variable", "NCCL_IB_HCA")  # the HCAs that were chosen do not reach each other
    unanswered = not timeline.had_worked and timeline.first(
        "ib.completion", where=lambda e: e.get("status") in _RETRY_EXCEEDED
    )
    chosen = timeline.has("ib.qp-failed") or _empty_gid(timeline) or unanswered
    if chosen and timeline.variable("NCCL_IB_GID_INDEX"):
        return Offender("variable", "NCCL_IB_GID_INDEX")
    if found := timeline.part(
        "device",
        "ib.qp-failed",
        "ib.gid-missing",
        "ib.no-such-device",
        "ib.open-failed",
        "ib.completion",
        "ib.command-failed",
        "ucx.link",
        name="hca",
    ):
        return found
    refused = timeline.first("ib.completion")
    observed = timeline.hosts.get(refused.host or "") if refused else None
    if observed and observed.hcas:
        return Offender("device", observed.hcas[0])
    if timeline.has("ib.qp-failed", "ib.open-failed") and (only := _only_hca(timeline)):
        return Offender("device", only)
    if timeline.has("ucx.link") and _ucx_index(timeline):
        return Offender("variable", "UCX_IB_GID_INDEX")
    without = next((host for host in timeline.hosts.values() if "Socket" in host.networks), None)
    if without and len(timeline.networks) > 1:
        return Offender("host", without.name)
    return clues.host_or_rank()


def _only_hca(timeline: Timeline) -> str | None:
    """The HCA that all hosts use, where it is one: a queue pair that fails is on it."""
    used = {hca for host in timeline.hosts.values() for hca in host.hcas}
    return used.pop() if len(used) == 1 else None
