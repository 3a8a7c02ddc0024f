"""The server between those of its run and strangers: over loopback, in this process."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from nccltool.worker.bus import client, messages, seal, server
from nccltool.worker.bus.client import BusAddress, Connection, Late, SecretDiffers
from nccltool.worker.bus.messages import Ask
from nccltool.worker.bus.seal import ClientSide, RunSecret
from nccltool.worker.bus.server import Server

pytestmark = pytest.mark.quick

SECRET = RunSecret(b"of this run", "run")


@dataclass
class Bus:
    """A server, and what it has reported."""

    address: BusAddress
    server: Server
    reports: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def stranger(self) -> socket.socket:
        return socket.create_connection((self.address.host, self.address.port), timeout=10.0)

    def refused(self) -> int:
        """How many it has counted, at its end."""
        self.server.stop()
        return sum(count for count, _ in self.reports)


@pytest.fixture
def bus() -> Iterator[Bus]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    reports: list[tuple[int, tuple[str, ...]]] = []
    served = Server([listener], SECRET, lambda *told: reports.append(told))
    served.start()
    yield Bus(BusAddress("127.0.0.1", listener.getsockname()[1], SECRET), served, reports)
    served.stop()


@pytest.fixture
def member(bus: Bus) -> Iterator[Connection]:
    with contextlib.closing(client.connect(bus.address, 10.0)) as connection:
        yield connection


def works(member: Connection) -> bool:
    member.ask(Ask(op="set", keys=("k",), values=(b"v" * 100_000,)))
    return member.ask(Ask(op="get", keys=("k",))).values == (b"v" * 100_000,)


def test_many_ask_at_the_same_time(bus: Bus) -> None:
    def count() -> None:
        with contextlib.closing(client.connect(bus.address, 10.0)) as one:
            for _ in range(50):
                one.ask(Ask(op="add", keys=("n",), number=1))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with contextlib.closing(client.connect(bus.address, 10.0)) as one:
        assert one.ask(Ask(op="add", keys=("n",))).number == 400
    assert bus.refused() == 0


def test_one_waits_for_another(bus: Bus, member: Connection) -> None:
    later = threading.Timer(0.1, lambda: member.ask(Ask(op="set", keys=("k",), values=(b"v",))))
    later.start()
    with contextlib.closing(client.connect(bus.address, 10.0)) as one:
        assert one.ask(Ask(op="get", keys=("k",), timeout_s=10.0)).values == (b"v",)
        with pytest.raises(Late, match="waiting for x"):
            one.ask(Ask(op="wait", keys=("x",), timeout_s=0.1))
    later.join()


@pytest.mark.parametrize("other", [RunSecret(b"of another run", "run"), RunSecret(b"of this run", "another")])
def test_another_secret(bus: Bus, member: Connection, other: RunSecret) -> None:
    with pytest.raises(SecretDiffers):
        client.attempt(BusAddress(bus.address.host, bus.address.port, other), 10.0)
    assert works(member)
    assert bus.refused() == 1
    assert bus.reports[-1][1] == ("127.0.0.1",)


@pytest.mark.parametrize("sent", [b"", b"x", b"GET / HTTP/1.0\r\n\r\n", bytes(64), b"\xff" * 2**20])
def test_what_strangers_send(bus: Bus, member: Connection, sent: bytes) -> None:
    with bus.stranger() as stranger, contextlib.suppress(OSError):
        stranger.sendall(sent)
    with bus.stranger() as stranger, contextlib.suppress(OSError):
        stranger.sendall(sent)
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(4096):
            pass
    assert works(member)
    assert bus.refused() == 2


def test_silent_ones_are_sent_away(bus: Bus, member: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STRANGER_S", 0.2)
    with bus.stranger() as one, bus.stranger() as other:
        for stranger in (one, other):
            assert len(stranger.recv(4096)) == seal.GREETING_BYTES
            assert stranger.recv(4096) == b""
    assert works(member)
    assert bus.refused() == 2


def test_a_crowd_pushes_out_its_own(bus: Bus, member: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are few, and who comes last has one."""
    monkeypatch.setattr(server, "_MOST_STRANGERS", 10)
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(bus.stranger()) for _ in range(40)]
        assert works(member)
        newcomer = client.connect(bus.address, 10.0)
        assert works(newcomer)
        newcomer.close()
        for one in crowd[:25]:
            one.settimeout(10.0)
            one.recv(4096)
            with contextlib.suppress(ConnectionError):
                assert one.recv(4096) == b""
    assert bus.refused() >= 30


def test_a_crowd_leaves_files_to_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few files may be open, strangers have fewer places: or what the process opens next would fail."""
    monkeypatch.setattr(server, "_allow_files", lambda: server._FILES + 12)
    listener = socket.create_server(("127.0.0.1", 0))
    served = Server([listener], SECRET, lambda *told: None)
    served.start()
    bus = Bus(BusAddress("127.0.0.1", listener.getsockname()[1], SECRET), served)
    with contextlib.ExitStack() as stack:
        stack.callback(served.stop)
        members = [stack.enter_context(contextlib.closing(client.connect(bus.address, 10.0))) for _ in range(4)]
        for _ in range(40):
            stack.enter_context(bus.stranger())
        assert all(map(works, members))
        stack.enter_context(contextlib.closing(client.connect(bus.address, 10.0)))
        assert 0 < len(served._strangers) <= 8


def test_a_member_that_is_not_what_it_seemed(bus: Bus, member: Connection) -> None:
    """Its connection was taken over: frames that are not sealed, or too large, end it."""
    for tail in (bytes(seal.FRAME_HEAD), b"\xff" * seal.FRAME_HEAD):
        with bus.stranger() as stranger:
            side = ClientSide(SECRET, b"store", stranger.recv(seal.GREETING_BYTES, socket.MSG_WAITALL))
            stranger.sendall(side.proof() + tail)
            assert len(stranger.recv(seal.WELCOME_BYTES, socket.MSG_WAITALL)) == seal.WELCOME_BYTES
            with contextlib.suppress(ConnectionError):
                assert stranger.recv(1) == b""
    assert works(member)
    assert bus.refused() == 2


@pytest.mark.parametrize("payload", [b"", b"\xc1", messages.encode(Ask(op="swap", keys=("k",)))])
def test_a_message_that_nobody_understands(bus: Bus, member: Connection, payload: bytes) -> None:
    with bus.stranger() as stranger:
        side = ClientSide(SECRET, b"store", stranger.recv(seal.GREETING_BYTES, socket.MSG_WAITALL))
        stranger.sendall(side.proof())
        sealed = side.welcomed(stranger.recv(seal.WELCOME_BYTES, socket.MSG_WAITALL))
        stranger.sendall(sealed.seal(payload))
        with contextlib.suppress(ConnectionError):
            assert stranger.recv(1) == b""
    assert works(member)


def test_an_answer_that_is_too_long(bus: Bus, member: Connection) -> None:
    for key in "ab":
        member.ask(Ask(op="set", keys=(key,), values=(bytes(seal.LARGEST // 2),)))
    with pytest.raises(Late, match="too long"):
        member.ask(Ask(op="get", keys=("a", "b")))
    assert works(member)


def test_requests_without_an_answer(bus: Bus, member: Connection) -> None:
    """They are taken one after another, however they are cut on the way, and before what is asked next."""
    with contextlib.closing(client.connect(bus.address, 10.0)) as one:
        for number in range(2000):
            one.ask(Ask(op="append", keys=("k",), values=(b"%d," % number,)))
        assert one.ask(Ask(op="get", keys=("k",))).values == (b"".join(b"%d," % n for n in range(2000)),)


def test_an_answer_that_comes_late_is_not_taken_for_another(bus: Bus, member: Connection) -> None:
    with pytest.raises(TimeoutError):
        member.ask(Ask(op="get", keys=("k",), timeout_s=0.2), patience_s=-0.1)
    with pytest.raises(OSError, match="descriptor"):
        member.ask(Ask(op="add", keys=("n",), number=1))


def test_a_flood_is_reported_at_most_once_a_second(bus: Bus, member: Connection) -> None:
    begin = time.monotonic()
    for _ in range(300):
        bus.stranger().close()
    while bus.server._refused.total() + sum(count for count, _ in bus.reports) < 300:  # while it takes them in
        assert time.monotonic() < begin + 60.0
        assert works(member)
    assert bus.refused() == 300
    assert len(bus.reports) <= 2 + (time.monotonic() - begin)


def test_nobody_answers_at_its_end(bus: Bus, member: Connection) -> None:
    bus.server.stop()
    with pytest.raises(OSError, match=r"closed|reset|pipe"):
        member.ask(Ask(op="count"))
