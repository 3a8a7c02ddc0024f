"""Messages between ranks: each send needs a recv of the same size and type, in an order that is possible.

Messages of one pair and direction are matched in their order: all of them where both recorders still have all,
else those that are not done. Which of a rank's messages to different peers waits for which is not in a dump.
"""

from collections.abc import Iterator, Mapping, Sequence

from nccltool.triage.flight_recorder.dumps import RecordedCall, RecordedMessage, RecorderDump
from nccltool.triage.logs.base import LogEvent

_Of = Mapping[int, RecorderDump]


def unlike(of: _Of) -> Iterator[LogEvent]:
    """Messages whose two ends differ, and messages that only one end has called: the first of each pair."""
    pairs = sorted({(one.source, one.target) for dump in of.values() for one in dump.messages})
    for source, target in pairs:
        if source in of and target in of and source != target:
            yield from _pair(of[source], of[target])


def _pair(sender: RecorderDump, receiver: RecorderDump) -> Iterator[LogEvent]:
    sends, receives = _between(sender, sender, receiver), _between(receiver, sender, receiver)
    if not (sender.complete and receiver.complete):
        sends, receives = _under_way(sends), _under_way(receives)
    for sent, received in zip(sends, receives, strict=False):
        if (sent.elements, sent.dtypes) != (received.elements, received.dtypes):
            yield _differ(sender, receiver, sent, received)
            return
    if alone := _under_way(sends[len(receives) :]):
        yield _alone(alone[0], sender, receiver, "has not called the recv")
    elif alone := _under_way(receives[len(sends) :]):
        yield _alone(alone[0], receiver, sender, "has not called the send")


def _under_way(messages: Sequence[RecordedMessage]) -> list[RecordedMessage]:
    return [one for one in messages if not one.finished]


def _between(of: RecorderDump, sender: RecorderDump, receiver: RecorderDump) -> list[RecordedMessage]:
    kind = "send" if of is sender else "recv"
    return [
        one for one in of.messages if one.kind == kind and (one.source, one.target) == (sender.rank, receiver.rank)
    ]


def _differ(
    sender: RecorderDump, receiver: RecorderDump, sent: RecordedMessage, received: RecordedMessage
) -> LogEvent:
    text = (
        f"Flight recorder: rank {sender.rank} is in {sent.told}, rank {receiver.rank} in {received.told}"
        f"{sent.at}{received.at}"
    )
    fields = {"first": str(sender.rank), "second": str(receiver.rank)}
    return sender.shows("torch.fingerprint", text, fields)


def _alone(message: RecordedMessage, waits: RecorderDump, peer: RecorderDump, what: str) -> LogEvent:
    text = (
        f"Flight recorder: ranks [{peer.rank}] have not joined: rank {peer.rank} {what} for which rank"
        f" {waits.rank} waits in {message.told}{message.at}"
    )
    return peer.shows("torch.behind", text, {"ranks": str(peer.rank)})


def circle(of: _Of) -> LogEvent | None:
    """Ranks that wait for each other all around."""
    waits = {rank: _waits_for(of, dump) for rank, dump in of.items()}
    ring = _ring(waits)
    if not ring:
        return None
    steps = [f"rank {rank} waits for rank {peer} in {waits[rank][peer].told}" for rank, peer in _steps(ring)]
    first, second = ring[0], ring[1]
    stacks = "".join(waits[rank][peer].at for rank, peer in _steps(ring))
    text = f"Flight recorder: ranks wait for each other: {', '.join(steps)}{stacks}"
    return of[first].shows("torch.fingerprint", text, {"first": str(first), "second": str(second)})


def _steps(ring: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(ring, (*ring[1:], ring[0]), strict=True)


def _waits_for(of: _Of, dump: RecorderDump) -> dict[int, RecordedMessage | RecordedCall]:
    """The peers that have to do something before this rank gets on, and in what it waits for them."""
    found: dict[int, RecordedMessage | RecordedCall] = {}
    for peer, now in _now(dump).items():
        if peer in of and not all(_is_met(one, _now(of[peer]).get(dump.rank, ())) for one in now):
            found[peer] = now[0]
    for group, calls in dump.groups.items():
        waiting = next((number for number in sorted(calls) if not calls[number].finished), None)
        if waiting is not None:
            late = [rank for rank, one in of.items() if one.groups.get(group) and max(one.groups[group]) < waiting]
            found |= dict.fromkeys(late, calls[waiting])
    return found


def _now(dump: RecorderDump) -> dict[int, list[RecordedMessage]]:
    """Peer -> the message that is under way with it, or those of the batch: they follow one another."""
    found: dict[int, list[RecordedMessage]] = {}
    for one in dump.messages:
        peer = one.target if one.kind == "send" else one.source
        if not one.finished and peer != dump.rank and (peer not in found or found[peer][0].batch == one.batch):
            found.setdefault(peer, []).append(one)
    return found


def _is_met(message: RecordedMessage, others: Sequence[RecordedMessage]) -> bool:
    return any(other.kind != message.kind for other in others)


def _ring(waits: Mapping[int, Mapping[int, object]]) -> list[int]:
    """The first circle in a graph; empty = there is none."""
    done: set[int] = set()
    for start in sorted(waits):
        path: list[int] = []
        stack = [(start, iter(sorted(waits[start])))] if start not in done else []
        path += [start] if stack else []
        while stack:
            peer = next(stack[-1][1], None)
            if peer is None:
                done.add(path.pop())
                stack.pop()
            elif peer in path:
                return path[path.index(peer) :]
            elif peer not in done:
                path.append(peer)
                stack.append((peer, iter(sorted(waits.get(peer, ())))))
    return []
