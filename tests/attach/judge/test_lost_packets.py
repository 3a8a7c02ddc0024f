"""Connections whose packets are lost, between ranks and to the store."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from nccltool.attach.judge import lost_packets
from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.views import views
from nccltool.attach.seen.job import HostLook, HostSample, JobLook, RankSample
from nccltool.attach.seen.process import SocketSeen
from tests.attach.judge.looks import WAITS, R, look

_STORE = ("new-group", "0")
_TO_STORE = SocketSeen(
    local="10.0.0.1:40000",
    peer="10.0.0.1:29500",
    state="ESTAB",
    send_queue_bytes=35,
    backoff=4,
    retransmissions=5,
)


def _with_store(seen: JobLook, socket: SocketSeen) -> JobLook:
    """All ranks have that connection to the store, too."""
    return _with_sockets(seen, lambda sockets: (*sockets, socket))


def _with_sockets(seen: JobLook, changed: Callable[[tuple[SocketSeen, ...]], tuple[SocketSeen, ...]]) -> JobLook:
    def of_rank(one: RankSample) -> RankSample:
        return replace(one, sockets=changed(one.sockets or ()))

    def of_sample(one: HostSample) -> HostSample:
        return replace(one, ranks=tuple(map(of_rank, one.ranks)))

    def of_host(one: HostLook) -> HostLook:
        return replace(one, samples=tuple(map(of_sample, one.samples)))

    return replace(seen, hosts=tuple(map(of_host, seen.hosts)))


def test_which_connections() -> None:
    (first, _) = views(_with_store(look(R(backoff=3), R()), _TO_STORE))
    assert [one.peer for one in lost_packets.between_ranks(first, ())] == ["10.0.0.1:20100"]
    (socket,) = lost_packets.to_store(first)
    told = "rank 0: 10.0.0.1:40000 to 10.0.0.1:29500, 5 retransmissions, 35 bytes not acknowledged"
    assert lost_packets.told(first, socket) == told


def test_the_store_does_not_get_what_one_rank_sends_it() -> None:
    """The others wait for that rank in a collective."""
    seen = _with_store(look(R(stack=_STORE), R(stack=WAITS, host="n2")), _TO_STORE)
    verdict = judge(seen)
    assert (verdict.state, [(one.cause, one.level) for one in verdict.culprits]) == ("hung", [("store", "medium")])
    assert verdict.culprits[0].message == "packets to the store (10.0.0.1:29500) are lost"


def test_a_store_that_acknowledges_is_not_named() -> None:
    seen = _with_store(look(R(stack=_STORE), R(stack=WAITS, host="n2")), replace(_TO_STORE, backoff=0))
    assert [one.cause for one in judge(seen).culprits if one.cause == "store"] == []


def test_between_two_hosts_neither_is_named() -> None:
    (one,) = judge(look(R(host="n1", backoff=3), R(host="n2", backoff=3))).culprits
    assert (one.cause, one.host, one.message) == ("network", "", "packets between n1 and n2 are lost")


def test_the_host_that_all_lost_packets_have_in_common_is() -> None:
    ranks = (R(host="n1", backoff=3), R(host="n2"), R(host="n3"))
    (one,) = judge(look(*ranks)).culprits
    assert (one.cause, one.host, one.message) == ("network", "n1", "packets of n1 are lost")


@pytest.mark.parametrize(
    ("queue", "named"),
    [(0, ["packets between n1 and n2 are lost"]), (65_536, []), (None, [])],
    ids=["all was read", "nobody reads", "not known"],
)
def test_a_local_firewall_lets_nothing_be_sent_again(queue: int | None, named: list[str]) -> None:
    seen = _with_sockets(
        look(R(host="n1", backoff=3), R(host="n2")),
        lambda sockets: tuple(replace(one, retransmissions=0, receive_queue_bytes=queue) for one in sockets),
    )
    assert [one.message for one in judge(seen).culprits if one.cause == "network"] == named
