"""What answers a call: a listener, and also a kernel that refuses; not one that drops the packets."""

import contextlib
import socket
import time

from nccltool.hosts.sources.tcp_calls import any_answers

QUICK_S = 0.5


def test_what_takes_or_refuses_a_call_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        assert any_answers([address])
    assert any_answers([address])


def test_what_drops_packets_does_not_answer() -> None:
    """As a listener does whose backlog is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        begin = time.monotonic()
        assert not any_answers([listener.getsockname()], QUICK_S)
        assert time.monotonic() - begin >= QUICK_S
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        assert any_answers([listener.getsockname(), other.getsockname()], QUICK_S)


def test_nobody_is_called() -> None:
    assert not any_answers([])
