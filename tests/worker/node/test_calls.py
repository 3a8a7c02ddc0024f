"""Calls between node processes: what each trouble of the callee is called."""

import contextlib
import socket
import threading

import pytest

from nccltool.launch import events
from nccltool.launch.instructions import Goal
from nccltool.worker.bus import messages, seal
from nccltool.worker.bus.messages import Answer
from nccltool.worker.bus.seal import RunSecret, ServerSide
from nccltool.worker.node import calls
from nccltool.worker.node.calls import Failure

SECRET = RunSecret(b"of this run", "run")
NAME = b"nccltool node 7"


def served(*answers: bytes, secret: RunSecret = SECRET) -> Failure | None:
    """What comes of a call to node 7, which welcomes the caller if it can, and then has these answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            caller, _ = listener.accept()
            with caller, contextlib.suppress(ConnectionError):
                caller.settimeout(10.0)
                side = ServerSide(secret, b"meeting")
                caller.sendall(side.greeting())
                welcome, sealed = side.answer(received(caller, seal.PROOF_BYTES))
                caller.sendall(welcome)
                for answer in answers if sealed else ():
                    assert sealed
                    head = received(caller, seal.FRAME_HEAD)
                    sealed.opened(head, received(caller, seal.length_of(head)))
                    caller.sendall(sealed.seal(messages.encode(Answer(values=(answer,)))))
                while caller.recv(65536):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        goal = Goal(node=7, port=listener.getsockname()[1], addresses=("127.0.0.1",))
        return calls.call(SECRET, "127.0.0.1", goal)


def received(caller: socket.socket, count: int) -> bytes:
    return caller.recv(count, socket.MSG_WAITALL)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TRY_S", 0.3)


@pytest.mark.parametrize(
    ("answers", "failure"),
    [
        pytest.param((), calls.SILENT, id="it says nothing"),
        pytest.param((NAME,), calls.LOST_FROM, id="large packets from it are lost"),
        pytest.param((NAME, NAME.ljust(20_000)), calls.LOST_TO, id="large packets to it are lost"),
        pytest.param((NAME, NAME.ljust(20_000), NAME), None, id="all is well"),
        pytest.param((b"nccltool node 8",), Failure("another host or program answered"), id="another node"),
    ],
)
def test_what_a_call_comes_to(answers: tuple[bytes, ...], failure: Failure | None) -> None:
    assert served(*answers) == failure


def test_a_process_that_is_stopped() -> None:
    """The kernel accepts for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        goal = Goal(node=7, port=listener.getsockname()[1], addresses=("127.0.0.1",))
        assert calls.call(SECRET, "127.0.0.1", goal) == calls.SILENT


@pytest.mark.parametrize("other", [RunSecret(b"of another run", "run"), RunSecret(b"of this run", "another run")])
def test_a_node_of_another_run(other: RunSecret) -> None:
    assert served(NAME, secret=other) == Failure("another host or program answered")


def test_one_that_answers() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    answering = calls.answering([listener], SECRET, 7, lambda count, addresses: None)
    answering.start()
    goal = Goal(node=7, port=listener.getsockname()[1], addresses=("127.0.0.1",))
    reached = calls.tried(SECRET, 3, goal)
    answering.stop()
    assert reached == events.Reached(node=3, goal=7, port=goal.port, addresses=("127.0.0.1",), failures=())
