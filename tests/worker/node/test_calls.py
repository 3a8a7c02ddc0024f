"""Calls between node processes: what each trouble of the callee is called."""

import socket
import threading
from collections.abc import Callable

import pytest

from nccltool.launch import events
from nccltool.launch.instructions import Goal
from nccltool.worker.node import calls
from nccltool.worker.node.calls import Answers, Failure

WORD = f"nccltool run {7:06}\n".encode().ljust(128)


def served(answer: Callable[[socket.socket], None]) -> Failure | None:
    """What comes of a call to node 7, which answers so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            caller, _ = listener.accept()
            with caller:
                answer(caller)
                caller.settimeout(10.0)
                while caller.recv(65536):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        goal = Goal(node=7, port=listener.getsockname()[1], addresses=("127.0.0.1",))
        return calls.call("run", "127.0.0.1", goal)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TRY_S", 0.3)


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        pytest.param(b"", calls.SILENT, id="a process that is stopped: the kernel accepts for it"),
        pytest.param(WORD, calls.LOST_FROM, id="large packets from it are lost"),
        pytest.param(WORD + bytes(5000), calls.LOST_FROM, id="some of them are lost"),
        pytest.param(WORD + bytes(20_000), calls.LOST_TO, id="large packets to it are lost"),
        pytest.param(WORD + bytes(20_000) + b".", None, id="all is well"),
        pytest.param(WORD.replace(b"7", b"8"), Failure("another host or program answered"), id="another node"),
    ],
)
def test_what_a_call_comes_to(said: bytes, failure: Failure | None) -> None:
    assert served(lambda caller: caller.sendall(said)) == failure


def test_one_that_answers() -> None:
    answers = Answers("run", 7)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        goal = Goal(node=7, port=listener.getsockname()[1], addresses=("127.0.0.1",))
        found: list[object] = []
        caller = threading.Thread(target=lambda: found.append(calls.tried("run", 3, goal)))
        caller.start()
        answers.accept(listener)
        caller.join(10.0)
    (reached,) = found
    assert reached == events.Reached(node=3, goal=7, port=goal.port, addresses=("127.0.0.1",), failures=())


def test_callers_beyond_the_most_are_sent_away() -> None:
    answers = Answers("run", 7)
    answers._free = threading.BoundedSemaphore(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        callers = [socket.create_connection(listener.getsockname(), timeout=10) for _ in range(2)]
        for _ in callers:
            answers.accept(listener)
        first, second = (caller.recv(1) for caller in callers)
        for caller in callers:
            caller.close()
    assert (first, second) == (b"n", b"")
