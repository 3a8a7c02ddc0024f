"""Ranks call different collectives, sizes, or orders.

## Meaning
All ranks of a group must call the same collectives, in the same order, with matching sizes. One rank took a
different branch, ran a different number of batches, or used tensors of a different shape.

## Impact
The job hangs until the watchdog stops it, fails with truncated messages, or silently computes wrong results.

## Verify
    TORCH_DISTRIBUTED_DEBUG=DETAIL COMMAND  # names both calls at the first mismatch; slow, for debugging only
    grep -h 'Watchdog caught' LOG | grep -o 'SeqNum=[0-9]*, OpType=[A-Z_]*, NumelIn=[0-9]*' | sort | uniq -c
    # expected: one line; a rank with a different OpType or NumelIn at the same SeqNum is the one that differs

## Causes
* A collective is inside `if rank == 0`.
* Only one rank writes a checkpoint or runs an evaluation that uses collectives.
* Uneven data gives ranks different numbers of steps.
* Some ranks do not use all parameters.
* Ranks create process groups in different orders.

## Fix
Correct the program: every rank must call every collective. For uneven inputs, use torch's Join, drop_last=True, or
padding. Blast radius: this job.

## Escalate
Send the owner of the training code both calls and their stacks from the flight recorder.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from nccltool.core.text import whole
from nccltool.triage.causes.base import (
    FITS,
    TYPICAL,
    Clue,
    Clues,
    Given,
    LogEvent,
    Offender,
    Timeline,
    first_to_end,
    odd_one_out,
)
from nccltool.triage.timeline.exits import CollectiveTimeout

DECIDES = "operation, size, and sequence number of the collective on every rank (flight recorder)"
EXPLAINS = frozenset({"app-error", "straggler-timeout", "peer-exited", "other"})

LASTING = True
SIGNS = {
    "torch.fingerprint": (0.95, "ranks made mismatched calls"),
    "nccl.mismatched": (0.9, "NCCL found different calls on different ranks"),
    "hvd.mismatch": (0.9, "Horovod found different calls on different ranks"),
    "ras.mismatch": (0.7, "ranks made different numbers of calls"),
    "gloo.size-mismatch": (0.85, "Gloo received a message of unexpected size"),
    "hvd.uneven": (TYPICAL, "ranks had different amounts of data"),
    "mpi.truncated": (0.85, "MPI received a message longer than its buffer"),
    "ib.receive-mismatch": (0.85, "NCCL received a message of unexpected size"),
    "torch.models-differ": (FITS, "the model differs between ranks"),
}
SIGNS_OF_FAILURE = {"nccl.mismatch": (0.6, "NCCL suspects that ranks made different calls")}


def clues(timeline: Timeline) -> Given:
    """Calls that differ at the same place of the sequence."""
    if event := timeline.first("nccl.truncated"):
        strength = 0.75 if timeline.has("nccl.init-complete", "bench.row", "nccl.rings") else FITS
        yield Clue(strength, "a message did not have the size that its receiver expected", event)
    if differing := _differing(timeline):
        one, other = differing
        why = f"rank {one.rank} was in {_call(one)}, rank {other.rank} in {_call(other)}"
        yield Clue(0.9, why, one.event)
        return
    for find, weight, told in _SIGHTS:
        if event := find(timeline):
            yield Clue(weight, told, event)
            return


def _left_alone(timeline: Timeline) -> LogEvent | None:
    """A rank that says that it is done, where others wait in a collective and it does not."""
    waiting = {timeout.rank for timeout in timeline.timeouts}
    return (
        timeline.first("app.rank-done", where=lambda e: whole(e.get("rank")) not in waiting) if waiting else None
    )


def _skipped(timeline: Timeline) -> LogEvent | None:
    """The last line in which a rank that is not among those that timed out says that it leaves something out."""
    waiting = {timeout.rank for timeout in timeline.timeouts if timeout.rank is not None}
    first = timeline.earliest(timeout.event for timeout in timeline.timeouts)
    if len(waiting) < 2 or first is None:
        return None
    told = [event for event in timeline.of("job.rank-skips") if timeline.before(event, first)]
    return next((event for event in reversed(told) if _who(timeline, event) not in (None, *waiting)), None)


_RANK = re.compile(r"(?i)\brank[ :=_]?(\d{1,5})\b")


def _who(timeline: Timeline, event: LogEvent) -> int | None:
    own, named = timeline.rank_of(event), _RANK.search(event.text)
    return own if own is not None else int(named[1]) if named else None


def _call(timeout: CollectiveTimeout) -> str:
    return f"{timeout.op} of {timeout.size or '?'} elements"


_ONE_SIDED = ("SEND", "RECV", "COALESCED", "P2P")
"""Operations that always differ between ranks."""


def _differing(timeline: Timeline) -> tuple[CollectiveTimeout, CollectiveTimeout] | None:
    """Two ranks that time out at the same place in different calls; the odd one first."""
    places: dict[tuple[str, int | None], dict[int, CollectiveTimeout]] = {}
    for timeout in timeline.timeouts:
        if timeout.rank is not None:
            places.setdefault((timeout.group, timeout.sequence), {}).setdefault(timeout.rank, timeout)
    for by_rank in places.values():
        if calls := _unlike({rank: t for rank, t in by_rank.items() if not t.op.startswith(_ONE_SIDED)}):
            odd = odd_one_out(calls) or _left(timeline, by_rank) or next(iter(calls))
            other = next(rank for rank, call in calls.items() if call != calls[odd])
            return by_rank[int(odd)], by_rank[int(other)]
    return None


def _unlike(by_rank: Mapping[int, CollectiveTimeout]) -> dict[str, str]:
    """Rank -> its call, to the depth at which calls differ: lines may be cut behind the operation or a size."""
    told = {str(rank): (t.op, *filter(None, t.size.split("/"))) for rank, t in by_rank.items() if t.op}
    for depth in (1, 2, 3):
        calls = {rank: " ".join(parts[:depth]) for rank, parts in told.items() if len(parts) >= depth}
        if len(set(calls.values())) > 1:
            return calls
    return {}


_ELSEWHERE = ("job.rank-skips", "app.rank-done", "app.rank-left", "app.data-end", "job.at-work", "job.milestone")
_LEFT = re.compile(
    r"(?i)\b(?:done|finished|r[ua]n out|end of|no more|skip\w*|no ops|returning|saving|evaluat\w+|validat\w+)\b"
)


def _left(timeline: Timeline, ranks: Iterable[int]) -> str | None:
    """The only one of these ranks that says, before the first timeout, that it left the common work."""
    first = timeline.earliest(timeout.event for timeout in timeline.timeouts)
    told = (event for event in timeline.of(*_ELSEWHERE) if _LEFT.search(event.text))
    named = {_who(timeline, event) for event in told if first is None or timeline.before(event, first)}
    found = named & set(ranks)
    return str(found.pop()) if len(found) == 1 else None


def _calls_differ(timeline: Timeline) -> LogEvent | None:
    """A rank whose logged call (NCCL_DEBUG_SUBSYS=COLL) is not that of the others at the same opCount."""
    seen: dict[str, dict[str, tuple[str, LogEvent]]] = {}
    for event in timeline.of("nccl.call"):
        what = f"{event.get('op')} {event.get('count')} {event.get('type')}"
        seen.setdefault(event.get("sequence"), {}).setdefault(f"{event.host}:{event.pid}", (what, event))
    if not timeline.failed or timeline.has("nccl.no-algorithm"):
        return None
    for calls in seen.values():
        if odd := odd_one_out({who: what for who, (what, _) in calls.items()}):
            return calls[odd][1]
    return None


def _places_differ(timeline: Timeline) -> LogEvent | None:
    """Ranks of one group that all timed out, at different places of the sequence: nobody came late."""
    groups: dict[str, dict[int, CollectiveTimeout]] = {}
    for timeout in timeline.timeouts:
        if timeout.rank is not None and timeout.sequence is not None:
            groups.setdefault(timeout.group, {}).setdefault(timeout.rank, timeout)
    for by_rank in groups.values():
        calls = {(timeout.op, timeout.size) for timeout in by_rank.values()}
        places = {timeout.sequence for timeout in by_rank.values()}
        if len(by_rank) > 1 and len(places) > 1 and len(calls) > 1:
            return min(by_rank.values(), key=lambda timeout: timeout.sequence or 0).event
    return None


def _snapshot_differs(timeline: Timeline) -> LogEvent | None:
    """In torch's snapshot of a timeout, the row with the fewest of the ranks that started different calls."""
    rows: dict[tuple[str, str], list[LogEvent]] = {}
    places: dict[str, str] = {}
    for event in timeline.of("torch.snapshot", "torch.snapshot-row"):
        if event.kind == "torch.snapshot":
            places[event.label] = event.get("sequence")
        elif event.label in places and not event.get("op").startswith(_ONE_SIDED):
            rows.setdefault((event.label, places[event.label]), []).append(event)
    for at_place in rows.values():
        if len({row.get("op") for row in at_place}) > 1:
            return min(at_place, key=lambda row: row.get("ranks").count(","))
    return None


def _sizes_of_a_pair_differ(timeline: Timeline) -> LogEvent | None:
    """The receive, where one rank's send and the receive of the only other one waited at the same place."""
    by_op = {timeout.op: timeout for timeout in timeline.timeouts}
    ranks = {timeout.rank for timeout in timeline.timeouts}
    if len(ranks) != 2 or None in ranks or set(by_op) != {"SEND", "RECV"}:
        return None
    sent, received = by_op["SEND"], by_op["RECV"]
    together = (sent.group, sent.sequence) == (received.group, received.sequence)
    return received.event if together and sent.size and received.size not in ("", sent.size) else None


def _lists_differ(timeline: Timeline) -> LogEvent | None:
    """Horovod's list of missing ranks, where each rank lacks other tensors."""
    ready = timeline.of("hvd.ready")
    if len({event.get("ranks") for event in ready}) > 1:
        return ready[0]
    rows = timeline.of("hvd.row") if timeline.has("hvd.stalled") else ()
    told = {(event.get("ranks") or str(event.task)): event for event in rows}
    lists = {who: event.text.partition(": ")[2] or event.text for who, event in told.items()}
    if len(set(lists.values())) < 2:
        return None
    return told[odd_one_out(lists) or next(iter(lists))]


_EITHER_WAY = ("gather", "scatter")
"""Operations in which a rank can seem to be while it is in another one: object collectives are made of them."""


def _stacks_differ(timeline: Timeline) -> LogEvent | None:
    """The innermost frame of a rank that stood in a collective in which no other one did."""
    told = {str(number): stack for number, stack in enumerate(timeline.stacks) if stack.operation}
    operations = {key: stack.operation for key, stack in told.items() if stack.operation not in _EITHER_WAY}
    if len(set(operations.values())) < 2 or not timeline.failed:
        return None
    first = next((key for key in operations if told[key].rank == 0), next(iter(operations)))
    return told[odd_one_out(operations) or first].event  # most branches that differ are those of the first rank


def _waits_for_another(timeline: Timeline) -> LogEvent | None:
    """The timeout of the one rank that waits for its GPU while the stacks show all others in a collective.

    It never joined the collective of the others, and they never joined its own, so no rank is late.
    """
    stacks, alone = timeline.stacks, {timeout.rank for timeout in timeline.timeouts}
    elsewhere = [stack for stack in stacks if not stack.operation]
    if len(stacks) < 3 or len(elsewhere) != 1 or len(alone) != 1 or not elsewhere[0].waits:
        return None
    return timeline.timeouts[0].event


def _told_calls_differ(timeline: Timeline) -> LogEvent | None:
    """The rank whose call, as the program printed it, has another size than that of the others."""
    told = {str(event.rank): event for event in timeline.of("shell.rank-call") if event.rank is not None}
    odd = odd_one_out({rank: f"{event.get('op')} {event.get('count')}" for rank, event in told.items()})
    return told[odd] if odd and timeline.failed else None


def _pair_differs(timeline: Timeline) -> LogEvent | None:
    """A receive at the same place as a send, of another size; point-to-point calls are not checked by NCCL."""
    if not timeline.failed:
        return None
    calls = timeline.of("nccl.call")
    sends = {event.get("sequence"): event for event in calls if event.get("op") == "Send"}
    of_two = {(event.host, event.pid) for event in calls}
    for event in calls if len(of_two) == 2 else ():
        sent = sends.get(event.get("sequence"))
        if (
            event.get("op") == "Recv"
            and sent
            and sent.pid != event.pid
            and sent.get("count") != event.get("count")
        ):
            return event
    return None


_SIGHTS: tuple[tuple[Callable[[Timeline], LogEvent | None], float, str], ...] = (
    (_left_alone, 0.75, "a rank left its loop while others waited in a collective"),
    (_skipped, 0.85, "a rank that did not join the collective had skipped work just before"),
    (_places_differ, 0.8, "every rank waited, but not in the same call"),
    (_snapshot_differs, 0.9, "torch found ranks in different calls at the same sequence number"),
    (_sizes_of_a_pair_differ, TYPICAL, "a rank sent a message of a different size than its peer expected"),
    (_lists_differ, 0.9, "several ranks each wait for tensors that only they submitted"),
    (_stacks_differ, TYPICAL, "ranks waited in different collectives"),
    (_waits_for_another, 0.85, "a rank waited for its own collective while the others were in a different one"),
    (_told_calls_differ, 0.85, "ranks made calls of different sizes"),
    (_pair_differs, 0.85, "ranks made calls of different sizes"),
    (_calls_differ, 0.8, "ranks made different calls at the same position"),
)
"""What shows that calls differ, in the order in which it is looked for; the first that is there counts."""


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The rank whose call is not that of the others."""
    prints = _fingerprints(timeline)
    if prints and (odd := odd_one_out(prints)):
        return Offender("rank", odd)
    if done := _left_alone(timeline):
        return Offender("rank", done.get("rank"))
    if not _differing(timeline) and (skips := _skipped(timeline)):
        return Offender("rank", str(_who(timeline, skips)))
    if not _differing(timeline) and (early := _places_differ(timeline)) and early.rank is not None:
        return Offender("rank", str(early.rank))
    if differing := _differing(timeline):
        return Offender("rank", str(differing[0].rank))
    if timeline.stacks and (left := _left(timeline, range(timeline.world_size or 0))):
        return Offender("rank", left)
    finders = (_snapshot_differs, _told_calls_differ, _pair_differs, _stacks_differ)
    told = next(filter(None, (find(timeline) for find in finders)), None)
    if told and (rank := _rank_of(timeline, told)) is not None:
        return Offender("rank", str(rank))
    if timeline.has("mpi.truncated") and (reporting := timeline.part("rank", "mpi.reported", name="rank")):
        return reporting
    listed = _lists_differ(timeline)
    if listed and (who := listed.get("ranks") or ("" if listed.task is None else str(listed.task))).isdigit():
        return Offender("rank", who)
    if found := timeline.part("rank", "nccl.mismatched", "ras.rank", name="rank"):
        return found
    if prints and len(set(prints.values())) > 1:
        return Offender("rank", _blamed(timeline) or _ended_first(timeline, prints) or list(prints)[-1])
    return clues.rank_or_host()


def _rank_of(timeline: Timeline, told: LogEvent) -> int | None:
    """The rank that wrote a line, or whose stack it is in."""
    stack = next((stack for stack in timeline.stacks if stack.event == told), None)
    if listed := re.match(r"\d+", told.get("ranks")):
        return whole(listed[0])
    return stack.rank if stack and stack.rank is not None else timeline.rank_of(told)


def _fingerprints(timeline: Timeline) -> dict[str, str]:
    """Rank -> its call, from all statements; without the sequence number, which every rank counts for itself."""
    found: dict[str, str] = {}
    for event in timeline.of("torch.fingerprint"):
        for who, what in (("first", "firstprint"), ("second", "secondprint")):
            if event.get(who):
                found[event.get(who)] = event.get(what).split("TensorDtypes")[0]
    return found


def _ended_first(timeline: Timeline, prints: Mapping[str, str]) -> str | None:
    """The rank that its launcher saw end first, where its call is among those that differ."""
    first = first_to_end(timeline)
    return first if first in prints else None


def _blamed(timeline: Timeline) -> str | None:
    """The rank that more statements name as the other one than any other."""
    named = Counter(event.get("second") for event in timeline.of("torch.fingerprint") if event.get("second"))
    most = [rank for rank, count in named.items() if count == max(named.values())]
    return most[0] if len(most) == 1 else None
