"""Connections of processes, as the kernel tells them."""

import os
import socket
import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.look import sockets
from nccltool.attach.seen.process import SocketSeen
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree


def _message(info: bytes, state: int = 1) -> bytes:
    ends = [socket.inet_pton(socket.AF_INET, address).ljust(16, b"\0") for address in ("10.0.0.1", "10.0.0.2")]
    head = struct.pack("=4B", socket.AF_INET, state, 0, 0) + struct.pack("!HH", 40000, 50000) + b"".join(ends)
    head += struct.pack("=I8s5I", 0, bytes(8), 0, 11, 22, 1000, 777)
    return head + struct.pack("=HH", 4 + len(info), 2) + info


def _info() -> bytes:
    info = bytearray(232)
    info[4] = 3
    for at, form, value in (
        (24, "=I", 5),
        (44, "=I", 900),
        (52, "=I", 800),
        (100, "=I", 6),
        (128, "=Q", 64),
        (200, "=Q", 32),
    ):
        struct.pack_into(form, info, at, value)
    return bytes(info)


def test_a_connection() -> None:
    expected = SocketSeen(
        local="10.0.0.1:40000",
        peer="10.0.0.2:50000",
        state="ESTAB",
        send_queue_bytes=22,
        receive_queue_bytes=11,
        last_sent_ms=900,
        last_received_ms=800,
        unacknowledged=5,
        retransmissions=6,
        backoff=3,
        bytes_sent=32,
        bytes_received=64,
    )
    assert sockets.parsed(_message(_info())) == (777, expected)


@given(st.binary(max_size=400))
def test_cut_and_wrong_answers_harm_nobody(rest: bytes) -> None:
    whole = _message(b"")[:-4]
    found = sockets.parsed(whole + rest)
    assert found is not None and found[0] == 777
    assert sockets.parsed(rest[:71]) is None


def test_the_own_connections_are_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        accepted, _ = server.accept()
        with accepted:
            accepted.sendall(b"1234567")
            found = sockets.of_processes([os.getpid()], Tree())[os.getpid()]
            assert not isinstance(found, Unknown)
            here, there = ("{}:{}".format(*end) for end in (one.getsockname(), one.getpeername()))
            (own,) = (seen for seen in found if (seen.local, seen.peer) == (here, there))
            assert (own.state, own.receive_queue_bytes) == ("ESTAB", 7)
            assert (there, "LISTEN") in {(seen.local, seen.state) for seen in found}


def test_another_namespace_is_read_from_proc(tmp_path: Path) -> None:
    """Where it cannot be entered."""
    folder = tmp_path / "proc/40"
    (folder / "fd").mkdir(parents=True)
    (folder / "fd/3").symlink_to("socket:[777]")
    (folder / "fd/4").symlink_to("/dev/null")
    (folder / "ns").mkdir()
    (folder / "ns/net").symlink_to("net:[1]")
    (folder / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   0: 0100000A:9C40 0200000A:C350 01 00000016:0000000B 01:00000014 00000002     0        0 777 1 0\n"
    (folder / "net/tcp").write_text(head + row)
    found = sockets.of_processes([40, 41], Tree(str(tmp_path)))
    assert found[40] == (
        SocketSeen(
            local="10.0.0.1:40000",
            peer="10.0.0.2:50000",
            state="ESTAB",
            send_queue_bytes=22,
            receive_queue_bytes=11,
            backoff=2,
        ),
    )
    assert isinstance(found[41], Unknown)
