"""JUDGE the counters of hosts' networks over a run: what was lost, at what rate, on which host and device. Pure.

Counters of a host count all of its traffic, that of other jobs too: alone they are a warning about the host, and
accuse nobody. What the run's own connections lost names the host or pair that they have in common.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Literal

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.hosts import counters
from nccltool.hosts.counters import Growth, Peer
from nccltool.launch.events import Counted
from nccltool.launch.failed_pairs import blamed
from nccltool.launch.finding_kinds import COUNTERS_UNREAD, LINK_ERRORS, PATH_SLOW, RETRANSMITS

LOSS = 1e-3
"""Of packets: from there on Microsoft's data centers take a loss for an incident; 1e-4 to 1e-5 is usual (Pingmesh,
SIGCOMM 2015)."""
_SENT_AGAIN = 1e-2
"""Of TCP segments: healthy busy hosts sent up to 1.6e-3 again without one time-out (four hosts in namespaces on 2
cores); a warning from 1e-3 would be of them."""
_LEAST_AGAIN = 20
"""Segments sent again: fewer may be tail loss probes, which TCP sends where an answer is late (RFC 8985)."""
_LEAST_SEGMENTS = 1000
"""Fewer do not tell a loss of 1e-3 from chance."""
_HAD = "TCPDSACKRecv"
"""Segments that the receiver had when they came again (RFC 2883): a busy host answers late, and nothing was lost.
On a loopback of 2 busy cores, 90 % of 172,000 were such."""
_FRAME_LOSS = 1e-6
"""Of frames: IEEE 802.3 allows one wrong bit in 1e12, which is a frame of 1500 bytes in 83 million."""
_MUCH_SLOWER = 10.0
"""A link that came up at the next lower speed of Ethernet (IEEE 802.3) is slower by 2.5 to 10; what the
processor limits differs by less."""
_BUSY = 0.3
"""Of the run, its start included: who waits for a slow path has data on the way most of it, others hardly."""
_LEAST_BYTES = 1 << 20
"""Over less, time goes into latency."""
_SHOWN = 6

Measure = Literal["any", "per second", "share"]


@dataclass(frozen=True, slots=True)
class CounterLimit:
    """From where on a counter is worth a warning."""

    measure: Measure
    least: float = 0.0


_NVSENTINEL = {
    "link_downed": CounterLimit("any"),
    "excessive_buffer_overrun_errors": CounterLimit("any"),
    "local_link_integrity_errors": CounterLimit("any"),
    "rnr_nak_retry_err": CounterLimit("any"),
    "symbol_error": CounterLimit("per second", 120 / 3600),
    "link_error_recovery": CounterLimit("per second", 5 / 60),
    "port_rcv_errors": CounterLimit("per second", 10.0),
    "local_ack_timeout_err": CounterLimit("per second", 1.0),
    "port_xmit_discards": CounterLimit("per second", 100.0),
    "roce_slow_restart": CounterLimit("per second", 10.0),
    "carrier_changes": CounterLimit("any", 2),
}
"""Those of NVIDIA's NVSentinel (health-monitors, the defaults of its InfiniBand and Ethernet checks)."""
LIMITS: Mapping[str, CounterLimit] = {
    **_NVSENTINEL,
    # one packet out of its place makes the sender repeat a window: as many as NVSentinel allows for slow restarts
    **dict.fromkeys(("packet_seq_err", "out_of_sequence"), CounterLimit("per second", 10.0)),
    # EFA: events that no healthy run has; packets as those of TCP
    **dict.fromkeys(("retrans_timeout_events", "unresponsive_remote_events"), CounterLimit("any")),
    "impaired_remote_conn_events": CounterLimit("any"),
    "retrans_pkts": CounterLimit("share", LOSS),
    # interfaces: frames that came damaged, and those for which there was no room
    **dict.fromkeys(
        ("rx_crc_errors", "rx_errors", "tx_errors", "tx_carrier_errors"), CounterLimit("share", _FRAME_LOSS)
    ),
    **dict.fromkeys(("rx_dropped", "tx_dropped", "rx_missed_errors"), CounterLimit("share", LOSS)),
}


def judged(counted: Mapping[str, Counted], hosts: Collection[str], is_whole: bool = True) -> tuple[Finding, ...]:
    """Of the hosts that took part; those that told nothing are unknown. In a run that is not whole, paths may only
    seem slow, as data waits on one that is cut."""
    found = (
        *_retransmits(counted),
        *(_slow_paths(counted) if is_whole else ()),
        *_devices(counted),
        *_unread(counted, hosts),
    )
    return found if len(hosts) > 1 else ()


# ---- TCP


@dataclass(frozen=True, slots=True)
class _Path:
    """What the connections of one host to another one sent."""

    sender: str
    receiver: str
    traffic: Peer

    @property
    def is_lossy(self) -> bool:
        again, segments = self.traffic.again, self.traffic.segments
        return again >= _LEAST_AGAIN and segments >= _LEAST_SEGMENTS and again >= _SENT_AGAIN * segments

    def said(self, seconds: float) -> str:
        rate = _share(self.traffic.again, self.traffic.segments, seconds, "segments")
        speed = f"; {_mbit(self.bytes_per_s)} while busy" if self.bytes_per_s else ""
        return f"{self.sender} to {self.receiver}: {rate} sent again{speed}"

    @property
    def bytes_per_s(self) -> float:
        """While data was under way; 0 = too little for a rate."""
        peer = self.traffic
        return peer.confirmed_bytes / peer.busy_s if peer.busy_s and peer.confirmed_bytes >= _LEAST_BYTES else 0.0


def _paths(counted: Mapping[str, Counted]) -> tuple[_Path, ...]:
    names = {address: host for host, one in counted.items() for address in one.addresses}
    return tuple(
        _Path(host, names[peer.address], peer)
        for host, one in counted.items()
        for peer in one.peers
        if names.get(peer.address, host) != host
    )


def _retransmits(counted: Mapping[str, Counted]) -> Iterator[Finding]:
    paths = _paths(counted)
    lossy = {_pair(path): path for path in paths if path.is_lossy}
    hosts, rest = blamed(lossy)
    for host in hosts:
        yield _lossy(
            counted, [p for p in paths if p.is_lossy and host in _pair(p)], Subject(kind="host", name=host)
        )
    for pair in rest:
        ways = [path for path in paths if path.is_lossy and _pair(path) == pair]
        yield _lossy(counted, ways, Subject(kind="link", name=" - ".join(pair)))
    if not lossy:
        yield from _of_whole_hosts(counted)


def _pair(path: _Path) -> tuple[str, str]:
    a, b = sorted((path.sender, path.receiver))
    return a, b


def _lossy(counted: Mapping[str, Counted], paths: Sequence[_Path], subject: Subject) -> Finding:
    again, segments = (sum(getattr(path.traffic, name) for path in paths) for name in ("again", "segments"))
    seconds = max(counted[path.sender].seconds for path in paths)
    where = f"between {' and '.join(_pair(paths[0]))}" if subject.kind == "link" else f"to and from {subject.name}"
    said = [path.said(counted[path.sender].seconds) for path in paths[:_SHOWN]]
    whole = [line for path in paths for line in _of_tcp(counted[path.sender])]
    return RETRANSMITS.finding(
        subject=subject,
        message=f"TCP sent {_share(again, segments, seconds, 'segments')} again {where}",
        evidence=(*said, *dict.fromkeys(whole)),
        remedy="look for a damaged cable or a busy or shaped port: ethtool -S, ip -s link, tc -s qdisc, "
        "counters of the switch port",
    )


def _of_tcp(one: Counted) -> Iterator[str]:
    """The host's own counters, which also have what its closed connections lost."""
    if again := _tcp(one, "RetransSegs"):
        rate = _share(again.more, again.of, one.seconds, "segments")
        in_vain, timeouts = (found.more if (found := _tcp(one, name)) else 0 for name in (_HAD, "TCPTimeouts"))
        had = f" {in_vain} of them in vain, because the receiver had them," if in_vain else ""
        yield f"{one.host}: {rate} were sent again on this host during the run,{had} and {timeouts} time-outs"


def _tcp(one: Counted, name: str) -> Growth | None:
    return next((row for row in one.growth if (row.device, row.name) == (counters.TCP, name)), None)


def _of_whole_hosts(counted: Mapping[str, Counted]) -> Iterator[Finding]:
    """Where the run's own connections are not known to have lost anything."""
    hosts = [one for one in counted.values() if _lost_much(one)]
    if hosts:
        names = [one.host for one in hosts]
        yield RETRANSMITS.finding(
            subject=Subject(kind="run", name="other traffic or the run"),
            message=f"TCP on {named(names, _SHOWN)} sent many segments again; whose they were is unknown",
            evidence=tuple(line for one in hosts[:_SHOWN] for line in _of_tcp(one)),
            remedy="look at these hosts with nstat and ss -ti while nothing else runs there",
        )


def _lost_much(one: Counted) -> bool:
    again, had = _tcp(one, "RetransSegs"), _tcp(one, _HAD)
    if again is None or again.of < _LEAST_SEGMENTS:
        return False
    return again.more - (had.more if had else 0) >= max(_LEAST_AGAIN, _SENT_AGAIN * again.of)


def _slow_paths(counted: Mapping[str, Counted]) -> Iterator[Finding]:
    """Paths that were busy most of the time, and slow, while most others of the run carried as much in an instant:
    one fast path proves nothing where the processors are short."""
    paths = [path for path in _paths(counted) if path.bytes_per_s]
    slow: dict[tuple[str, str], list[_Path]] = {}
    for path in paths:
        others = [one.bytes_per_s for one in paths if _pair(one) != _pair(path)]
        is_busy = path.traffic.busy_s >= _BUSY * counted[path.sender].seconds
        if is_busy and others and path.bytes_per_s * _MUCH_SLOWER < median_high(others):
            slow.setdefault(_pair(path), []).append(path)
    hosts, rest = blamed(slow)
    named_pairs = [(Subject(kind="host", name=host), [pair for pair in slow if host in pair]) for host in hosts]
    named_pairs += [(Subject(kind="link", name=" - ".join(pair)), [pair]) for pair in rest]
    for subject, pairs in named_pairs:
        those = [path for pair in pairs for path in slow[pair]]
        fastest = max(path.bytes_per_s for path in paths if _pair(path) not in pairs)
        where = f"to and from {subject.name}" if subject.kind == "host" else f"between {' and '.join(pairs[0])}"
        yield PATH_SLOW.finding(
            subject=subject,
            message=f"data went {where} at {_mbit(max(path.bytes_per_s for path in those))} while "
            f"connections were busy, elsewhere in the run at up to {_mbit(fastest)}",
            evidence=tuple(path.said(counted[path.sender].seconds) for path in those[:_SHOWN]),
            remedy="check the speed of the interface and of the switch port: ethtool, tc -s qdisc",
        )


def _mbit(bytes_per_s: float) -> str:
    return f"{bytes_per_s * 8 / 1e6:,.3g} Mbit/s"


# ---- devices


def _devices(counted: Mapping[str, Counted]) -> Iterator[Finding]:
    for host, one in counted.items():
        by_device: dict[str, list[Growth]] = {}
        for row in one.growth:
            if row.device != counters.TCP and _is_over(row, one.seconds):
                by_device.setdefault(row.device, []).append(row)
        for device, rows in by_device.items():
            lines = tuple(f"{row.name}: {_rate(row, one.seconds)}" for row in rows)
            yield LINK_ERRORS.finding(
                subject=Subject(kind="device", name=f"{device} of {host}"),
                message=f"{device} of {host}: {rows[0].name} grew by {rows[0].more} on this host during the run",
                evidence=lines,
                remedy=f"on {host}: ethtool -S, rdma statistic; check the cable, transceiver, and switch port",
            )


def _is_over(row: Growth, seconds: float) -> bool:
    limit = LIMITS.get(row.name)
    if limit is None:
        return False
    match limit.measure:
        case "any":
            return row.more > limit.least
        case "per second":
            return row.more > limit.least * max(seconds, 1.0)
        case "share":
            return row.of > 0 and row.more > limit.least * row.of


def _rate(row: Growth, seconds: float) -> str:
    if row.of:
        return _share(row.more, row.of, seconds, "packets")
    return f"{row.more} ({row.more / max(seconds, 1e-9):.3g}/s)"


def _share(count: int, of: int, seconds: float, what: str) -> str:
    per_million = count / of * 1e6 if of else 0.0
    return f"{count} of {of} {what} ({per_million:,.0f} per million, {count / max(seconds, 1e-9):.3g}/s)"


# ---- not known


def _unread(counted: Mapping[str, Counted], hosts: Collection[str]) -> Iterator[Finding]:
    said = dict.fromkeys(sorted({*hosts} - counted.keys()), "it told nothing")
    said |= {host: "; ".join(one.unread) for host, one in counted.items() if one.unread}
    if counted and said:
        yield COUNTERS_UNREAD.finding(
            subject=Subject(kind="host", name=next(iter(said))),
            message=f"unknown whether links of {named(said, _SHOWN)} lost packets",
            evidence=tuple(f"{host}: {why}" for host, why in list(said.items())[:_SHOWN]),
        )
