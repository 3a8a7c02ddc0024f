"""A port, cable, or switch failed: a link is down or flapping, or packets were lost.

## Meaning
The fabric worked and then lost packets: a port went down, or HCAs that had exchanged data before exceeded their
retry limit.

## Impact
The job dies or hangs when it uses the link. Other jobs on this link fail too, now or later.

## Verify
    dmesg -T | grep -iE 'mlx5.*link (up|down)'  # on the suspect host; expected: nothing during the job
    mlxlink -d mlx5_0 -m -c                            # expected: State Active, few effective bit errors
    ibqueryerrors -s PortXmitWait                      # expected: no SymbolError, LinkDowned
    ethtool -S IFACE | grep -E 'link_down|discard|crc' # expected: not growing

## Causes
* A cable or transceiver is bad.
* A switch or a switch port restarted.
* The firmware of a NIC failed.
* The network is congested, and PFC or ECN does not work (RoCE).

## Fix
Drain the host, or exclude its HCA with NCCL_IB_HCA=^mlx5_2, and restart the job. Blast radius: the capacity of one
host until the link is repaired. With NCCL_IB_TIMEOUT=22 and NCCL_IB_RETRY_CNT=7, a job survives short flaps.

## Escalate
Send the fabric team the host, the HCA, the port, and the times of the port errors.
"""

from collections import Counter

from nccltool.triage.causes.base import FITS, SAYS, TYPICAL, Clue, Clues, Given, LogEvent, Offender, Timeline

DECIDES = "link counters and kernel log of the suspect host at that time"

EXPLAINS = frozenset({"app-error", "net-unreachable", "ib-config"})

SIGNS_OF_FAILURE = {
    "ib.port-error": (0.85, "an HCA reported a port error"),
    "ib.port-down": (0.8, "a port of the fabric is down"),
    "ib.port-counters": (0.6, "a port counts link errors"),
    "kernel.link-down": (0.85, "the Linux kernel logged a link-down event"),
    "kernel.nic-fault": (0.8, "the Linux kernel logged a NIC failure"),
    "ib.async-fatal": (TYPICAL, "an HCA reported a fatal event"),
    "ucx.link": (0.6, "UCX exceeded its retries"),
    "ib.failover": (FITS, "NCCL stopped using an HCA"),
}


def clues(timeline: Timeline) -> Given:
    """Events of ports, and retries exceeded after things had worked."""
    if (down := _down_port(timeline)) and timeline.failed and not timeline.steps_before:
        yield Clue(0.6, "a port is down while others are up, and the job made no progress", down)
    elif (down := _only_port(timeline)) and timeline.failed and not timeline.steps_before:
        yield Clue(0.4, "a tool shows a port that is down", down)
    early = timeline.first("ucx.link", where=lambda e: e.get("layer") == "RoCE" or "Endpoint timeout" in e.text)
    if early and not timeline.had_worked:
        yield Clue(-FITS, "nothing had worked before, which points to the configuration", early)
    event = timeline.first("ib.completion", where=lambda e: e.get("status") in ("12", "13"))
    if event and timeline.failed:
        changed = timeline.first("ib.gid-change")
        is_config = changed and timeline.before(changed, event)
        strength = SAYS if timeline.had_worked and not is_config else FITS
        yield Clue(strength - 0.1, "packets were not acknowledged, and retries were exceeded", event)


_STOPS = ("job.interrupted", "job.time-limit", "job.stalled", "job.cancelled")


def _down_port(timeline: Timeline) -> LogEvent | None:
    """A port that is down beside others that are up, where a job stood still."""
    stood = timeline.hung or timeline.first(*_STOPS)
    return _shown_down(timeline) if stood and timeline.has("shell.port-active") else None


def _only_port(timeline: Timeline) -> LogEvent | None:
    """A port that is down, if none is shown as up and only the tool reports it."""
    told = timeline.has("shell.port-active", *SIGNS_OF_FAILURE, "ib.completion", "job.completed")
    return None if told else _shown_down(timeline)


def _shown_down(timeline: Timeline) -> LogEvent | None:
    """A port that a user looked at: a list of all HCAs also has unused ones."""
    return timeline.first("shell.port-down", where=lambda e: "==>" not in e.text)


def _down(timeline: Timeline) -> Offender | None:
    """The HCA under whose name a tool shows a port that is down."""
    down = timeline.first("shell.port-down")
    if down and down.get("hca"):
        return Offender("device", down.get("hca"))
    above = [event for event in timeline.of("shell.hca") if down and timeline.before(event, down)]
    return Offender("device", above[-1].get("hca")) if above else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The host whose port failed; else the peer that most completions with errors name."""
    if found := timeline.host_named("ib.port-error", "kernel.link-down", "kernel.nic-fault", "ib.async-fatal"):
        return found
    if found := _down(timeline) or timeline.part("device", "ucx.link", name="hca"):
        return found
    peers = Counter(event.get("peer") for event in timeline.of("ib.completion") if event.get("peer"))
    named = [peer for peer, _ in peers.most_common(1)]
    if named and (host := timeline.host_of(named[0])):
        return Offender("host", host)
    if found := timeline.part(
        "device", "ib.port-error", "ib.port-down", "kernel.link-down", "ib.completion", "ucx.link", name="hca"
    ):
        return found
    return clues.host_or_rank()
