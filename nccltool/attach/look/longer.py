"""Whether samples are too close to each other: nothing moved, and connections do not tell for how long."""

from collections.abc import Sequence

from nccltool.attach.seen.job import HostSample, RankSample
from nccltool.attach.seen.ranks import RankFound

SPAN_S = 12.0
"""Longer than ranks of a healthy job usually wait for each other (10 s), with some room."""
_MOST_SWITCHES = 1


def extra_s(samples: Sequence[HostSample], ranks: Sequence[RankFound]) -> float:
    """How long to wait for one more sample; 0 = the samples are enough."""
    if len(samples) < 2:
        return 0.0
    first, last = samples[0], samples[-1]
    left = SPAN_S - (last.at_s - first.at_s)
    pairs = [(rank, first.of(rank.pid), last.of(rank.pid)) for rank in ranks]
    running = [
        (rank, a, b) for rank, a, b in pairs if a and b and a.process and b.process and b.process.state != "Z"
    ]
    if left <= 0 or not any(_has_group(last_one) for _, _, last_one in running):
        return 0.0
    are_still = all(_is_still(a, b, rank.pid) for rank, a, b in running)
    ends = {(one.local, one.peer) for _, _, b in running for one in b.sockets or ()}
    is_told = any(_tells(b, rank.master, ends) for rank, _, b in running)
    return left if are_still and not is_told else 0.0


def _is_still(before: RankSample, after: RankSample, pid: int) -> bool:
    places = [_frames(before, pid), _frames(after, pid)]
    if all(places):
        return places[0] == places[1]
    counts = [one.process.main_voluntary_switches for one in (before, after) if one.process]
    return None not in counts and (counts[-1] or 0) - (counts[0] or 0) <= _MOST_SWITCHES


def _frames(sample: RankSample, pid: int) -> list[tuple[str, str, int | None]]:
    main = [one for one in sample.stacks if one.pid == pid and one.trains]
    return [(frame.name, frame.file, frame.line) for one in main for frame in one.frames]


def _has_group(sample: RankSample) -> bool:
    """Before its process group is made, a rank starts, and waits as long as it likes."""
    names = sample.process.threads if sample.process else ()
    return any(name.startswith(("pt_gloo", "pt_nccl", "gloo_tcp", "NCCL ")) for name in names)


def _tells(sample: RankSample, master: str, ends: set[tuple[str, str]]) -> bool:
    """Whether some connection between two ranks that are here, other than that to the store, says when it last had
    data. Whose the far end of others is, is not known here."""
    port = master.rpartition(":")[2]
    return any(
        one.state == "ESTAB"
        and (one.peer, one.local) in ends
        and port not in (one.peer.rpartition(":")[2], one.local.rpartition(":")[2])
        and one.last_received_ms is not None
        for one in sample.sockets or ()
    )
