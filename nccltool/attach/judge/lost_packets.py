"""Connections with data that the other end does not acknowledge, sent again between the samples."""

from collections.abc import Iterator, Mapping, Sequence

from nccltool.attach.judge.views import RankView, is_of_store
from nccltool.attach.seen.process import SocketSeen


def between_ranks(view: RankView, everyone: Sequence[RankView]) -> Iterator[SocketSeen]:
    far_ends = {(one.peer, one.local): one for each in everyone for one in each.last.sockets or ()}
    return (one for one in _unanswered(view, far_ends) if not is_of_store(one, view))


def to_store(view: RankView) -> Iterator[SocketSeen]:
    return (one for one in _unanswered(view, {}) if is_of_store(one, view))


def told(view: RankView, socket: SocketSeen) -> str:
    """As evidence."""
    again = (
        f"{socket.retransmissions} retransmissions"
        if socket.retransmissions
        else f"asked {socket.backoff} times for room that the other end has"
    )
    waiting = f"{socket.send_queue_bytes or 0} bytes not acknowledged"
    return f"{view.name}: {socket.local} to {socket.peer}, {again}, {waiting}"


def _unanswered(view: RankView, far_ends: Mapping[tuple[str, str], SocketSeen]) -> Iterator[SocketSeen]:
    """`far_ends`: by the local and the peer's address of this end."""
    before = {(one.local, one.peer): one for one in view.samples[0].sockets or ()}
    for one in view.last.sockets or ():
        first = before.get((one.local, one.peer))
        if one.state != "ESTAB" or first is None:
            continue
        has_data = bool(one.send_queue_bytes or one.unacknowledged)
        backs_off = (one.backoff or 0) >= max(1, first.backoff or 0)
        far_end = far_ends.get((one.local, one.peer))
        # A full window alone is the other end's doing: it does not read, and its queue is full. If that is empty,
        # what asks for room does not arrive; a local firewall drops such packets before they count as sent again.
        is_lost = bool(one.retransmissions) or (far_end is not None and far_end.receive_queue_bytes == 0)
        if has_data and backs_off and is_lost:
            yield one
