"""Connections with data that the other end does not acknowledge, sent again between the samples."""

from collections.abc import Iterator

from nccltool.attach.judge.views import RankView, is_of_store
from nccltool.attach.seen.process import SocketSeen


def between_ranks(view: RankView) -> Iterator[SocketSeen]:
    return (one for one in _unanswered(view) if not is_of_store(one, view))


def to_store(view: RankView) -> Iterator[SocketSeen]:
    return (one for one in _unanswered(view) if is_of_store(one, view))


def told(view: RankView, socket: SocketSeen) -> str:
    """As evidence."""
    return (
        f"{view.name}: {socket.local} to {socket.peer}, {socket.retransmissions} retransmissions, "
        f"{socket.send_queue_bytes or 0} bytes not acknowledged"
    )


def _unanswered(view: RankView) -> Iterator[SocketSeen]:
    before = {(one.local, one.peer): one for one in view.samples[0].sockets or ()}
    for one in view.last.sockets or ():
        first = before.get((one.local, one.peer))
        if one.state != "ESTAB" or first is None:
            continue
        has_data = bool(one.send_queue_bytes or one.unacknowledged)
        is_sent_again = bool(one.retransmissions) and (one.backoff or 0) >= max(1, first.backoff or 0)
        if has_data and is_sent_again:  # a full window alone is the other end's doing: it does not read
            yield one
