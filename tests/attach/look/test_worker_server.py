"""torch's worker server is asked by the socket that the rank names."""

import os
from pathlib import Path

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.look import worker_server
from nccltool.attach.look.server_address import VARIABLE
from nccltool.attach.seen.ranks import RankFound
from tests.attach.judge.looks import SLEEPS, R, look
from tests.attach.look.worker_servers import (
    COUNTERS,
    FakeTcpWorkerServer,
    FakeWorkerServer,
    entry,
    listening,
    recorded,
)

_RECORD = recorded(entry(1, [[4]], True), entry(2, [[8]], False), completed=1)
_ALL = {
    "dump_traceback": b"Current thread 0x1 (most recent call first):\n",
    "pyspy_dump": b"",
    "wait_counter_values": COUNTERS,
    "fr_trace_json": _RECORD,
    "ping": b"pong\n",
}


def _rank(path: Path, rank: int | None = 0) -> RankFound:
    return RankFound(host="n1", pid=os.getpid(), rank=rank, settings=((VARIABLE, str(path)),))


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "s"  # a socket's name has at most 107 bytes


def test_the_recorder_and_the_store(path: Path) -> None:
    with FakeWorkerServer(path, _ALL) as server:
        found = worker_server.asked([_rank(path)], {})
    assert found.unread == ()
    (seen,), (recorder,) = found.servers, found.recorders
    assert (seen.answers, seen.gil_held, seen.store_waits) == (True, False, 1)
    (group,) = recorder.groups
    assert (group.last_enqueued, group.last_started, group.last_completed) == (2, None, 1)
    assert group.members == (0, 1)
    assert recorder.dump is not None
    assert recorder.dump.groups["0"][2].told == "all_reduce [[8]] Float"
    assert set(server.asked) == {"ping", "dump_traceback", "fr_trace_json", "wait_counter_values"}


def test_a_lock_that_is_held(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_server, "_ANSWERS_S", 0.5)
    with FakeWorkerServer(path, {**_ALL, "dump_traceback": None}):
        (seen,) = worker_server.asked([_rank(path)], {}).servers
    assert seen.gil_held


def test_a_server_on_a_port() -> None:
    """As torch.distributed.debug starts it."""
    with FakeTcpWorkerServer(_ALL) as server:
        rank = RankFound(host="n1", pid=os.getpid(), rank=0, master="n1:29500")
        found = worker_server.asked([rank], {rank.pid: listening(rank.pid, server.port)})
    assert (found.unread, [one.address for one in found.servers]) == ((), [f"TCP port {server.port}"])
    assert [one.rank for one in found.recorders] == [0]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({**_ALL, "ping": None}, "no answer within"),
        ({**_ALL, "fr_trace_json": b"{"}, "not the flight recorder's JSON"),
        ({**_ALL, "fr_trace_json": b"[1]"}, "not the flight recorder's JSON"),
        ({"fr_trace_json": _RECORD}, "/handler/ping: HTTP status 404"),
    ],
)
def test_what_is_wrong_is_listed(
    path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, bytes | None], reason: str
) -> None:
    monkeypatch.setattr(worker_server, "_ANSWERS_S", 0.5)
    with FakeWorkerServer(path, answers):
        found = worker_server.asked([_rank(path)], {})
    assert found.recorders == ()
    (unread,) = found.unread
    assert reason in unread.reason


def test_nobody_listens(path: Path) -> None:
    (unread,) = worker_server.asked([_rank(path)], {}).unread
    assert (unread.what, unread.reason) == (
        f"worker server of rank 0 (pid {os.getpid()})",
        "No such file or directory",
    )


def test_ranks_without_a_server_are_not_asked() -> None:
    found = worker_server.asked([RankFound(host="n1", pid=1, rank=0)], {})
    assert found == worker_server.WorkerServerAnswers()


def test_different_sizes_are_named() -> None:
    """What a stack cannot show."""
    sizes = [[[4]], [[4]], [[5]]]
    recorders = tuple(
        worker_server.of_server("s", rank, recorded(entry(1, of, False), completed=0))
        for rank, of in enumerate(sizes)
    )
    verdict = judge(look(R(), R(), R(), recorders=recorders))
    assert (verdict.culprits[0].cause, verdict.culprits[0].rank) == ("size-mismatch", 2)


@pytest.mark.parametrize(("stack", "level"), [(SLEEPS, "medium"), (None, "low")])
def test_who_has_not_made_the_call(stack: tuple[str, str] | None, level: str) -> None:
    """Also without stacks."""
    calls = (entry(1, [[4]], True), entry(2, [[4]], False))
    recorders = (
        worker_server.of_server("s", 0, recorded(*calls, completed=1)),
        worker_server.of_server("s", 1, recorded(calls[0], completed=1)),
    )
    ranks = (R(stack=None), R(stack=None)) if stack is None else (R(), R(stack=stack))
    (culprit,) = judge(look(*ranks, recorders=recorders)).culprits
    assert (culprit.rank, culprit.cause, culprit.level) == (1, "own-code", level)
    assert "flight recorder: it has not called all_reduce, number 2 of group 0" in culprit.evidence


def test_a_rank_without_a_recorder_is_not_accused_by_those_of_others() -> None:
    recorders = (worker_server.of_server("s", 0, recorded(entry(1, [[4]], False), completed=0)),)
    assert judge(look(R(stack=None), R(stack=None), recorders=recorders)).culprits == ()
