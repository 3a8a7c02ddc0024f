"""The client against fake servers of every version: it gets the document, or a reason within its deadline."""

import socket
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nccltool.attach.ras.address import RasAddress
from nccltool.attach.ras.client import RasAnswer, RasOrder, ask
from tests.attach.ras.fake_server import FakeRas, Habit
from tests.attach.ras.states import STATES, VERSIONS, Communicator, Rank, State, speaks_json

ORDER = RasOrder(timeout_s=1, deadline_s=4, connections=4)
LATE = next(state for state in STATES if state.name == "one rank late")
OTHER = State(name="other job", communicators=(Communicator(hash=7, ranks=(Rank(rank=90),)),))
MEMBERS = tuple(4700 + number for number in range(8))


def _ask(server: FakeRas, order: RasOrder = ORDER, members: tuple[int, ...] = ()) -> RasAnswer:
    return ask(RasAddress(port=server.port), order, members=members)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_answers(version: str) -> None:
    with FakeRas(version, LATE) as server:
        answer = _ask(server, members=MEMBERS)
    assert answer.document is not None
    assert answer.document.form == ("json" if speaks_json(version) else "text")
    assert (answer.belongs, answer.silent, answer.foreign, answer.connections) == (True, 0, 0, 1)


def test_only_commands_that_read_are_sent() -> None:
    for version in VERSIONS:
        with FakeRas(version, LATE) as server:
            _ask(server)
        assert server.asked == ["CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json", "VERBOSE STATUS"]


def test_a_stopped_listener_is_passed_over() -> None:
    with FakeRas("2.29.7", LATE, habits=("silent", "silent", "answers")) as server:
        answer = _ask(server)
    assert answer.document is not None
    assert (answer.connections, answer.silent) == (3, 2)


def test_another_job_on_the_port_is_passed_over() -> None:
    with FakeRas("2.29.7", LATE, others=OTHER) as server:
        answer = _ask(server, members=MEMBERS)
    assert answer.document is not None
    assert {one.hash for one in answer.document.communicators} == {"9f2a00c1d3e4b576"}
    assert answer.foreign == 1


def test_only_another_job_on_the_port() -> None:
    with FakeRas("2.29.7", OTHER) as server:
        answer = _ask(server, members=MEMBERS)
    assert answer == replace(
        answer, document=None, reason="the answer describes processes of another job", foreign=4, belongs=None
    )


def test_a_text_that_names_nobody_may_be_anyones() -> None:
    with FakeRas("2.26.2", STATES[0]) as server:
        answer = _ask(server, members=MEMBERS)
    assert answer.document is not None
    assert answer.belongs is None


def test_the_listener_is_known_by_its_socket() -> None:
    """Without a query: the fake server is this process, so it is the job's if this process is one of it."""
    import os

    with FakeRas("2.26.2", STATES[0]) as server:
        answer = ask(RasAddress(port=server.port), ORDER, pids=(os.getpid(),))
    assert (answer.belongs, answer.listener) == (True, os.getpid())


def test_a_process_of_another_job_is_not_asked() -> None:
    import os

    with FakeRas("2.29.7", LATE) as server:
        answer = ask(RasAddress(port=server.port), ORDER, pids=(os.getppid(),))
    assert answer.reason == "the port belongs to processes of another job"
    assert not any("STATUS" in line for line in server.asked)


def test_ipv6_localhost() -> None:
    with FakeRas("2.29.7", LATE, family=socket.AF_INET6) as server:
        assert _ask(server).document is not None


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        answer = ask(RasAddress(port=free.getsockname()[1]), ORDER)
    assert answer.document is None
    assert "Connection refused" in answer.reason
    assert answer.connections == 0


@pytest.mark.parametrize(
    ("habit", "reason"),
    [
        ("silent", "no answer within 1 s"),
        ("garbage", "not RAS"),
        ("http", "not RAS: it answered b'HTTP/1.1 400 Bad Request'"),
        ("huge line", "a line of more than 1024 bytes"),
        ("closes", ""),
        ("half", "not a whole document"),
        ("silent after STATUS", "did not end within its time"),
    ],
)
def test_a_server_that_misbehaves(habit: Habit, reason: str) -> None:
    with FakeRas("2.29.7", LATE, habits=(habit,)) as server:
        answer = _ask(server)
        assert answer.document is None
        assert answer.reason
        assert reason in answer.reason
        assert sum("STATUS" in line for line in server.asked) <= 1  # a failed query is not repeated


def test_an_endless_document_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nccltool.attach.ras.client._LARGEST", 1 << 20)
    with FakeRas("2.29.7", LATE, habits=("endless",)) as server:
        assert _ask(server).reason == "the document has more than 1 MiB"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=3000), st.integers(1, 700))
def test_any_bytes_give_a_reason(data: bytes, piece: int) -> None:
    """A server that answers with `data` in pieces and closes."""
    import threading

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    with connection:
                        for start in range(0, len(data), piece):
                            connection.sendall(data[start : start + piece])
            except OSError:
                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        answer = ask(RasAddress(port=server.getsockname()[1]), RasOrder(timeout_s=1, deadline_s=3, connections=2))
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    assert answer.document is None
    assert answer.reason


def test_the_deadline_ends_it() -> None:
    now = iter(range(10_000))
    with FakeRas("2.29.7", LATE, habits=("silent",)) as server:
        answer = ask(RasAddress(port=server.port), replace(ORDER, deadline_s=1), clock=lambda: float(next(now)))
    assert answer.document is None
    assert answer.connections <= 1
    assert time.monotonic() > 0
