"""What the kernel says of TCP connections, and its sums by peer."""

import socket
import struct

import pytest

from nccltool.hosts.counters import Peer
from nccltool.hosts.sources import tcp_peers
from nccltool.hosts.sources.tcp_peers import Traffic, TrafficSums


def message(
    own: str, own_port: int, peer: str, peer_port: int, info: bytes, family: int = socket.AF_INET
) -> bytes:
    """As inet_diag writes it: the socket, then attributes, of which the second is tcp_info."""
    raw = [socket.inet_pton(family, address).ljust(16, b"\0") for address in (own, peer)]
    head = struct.pack("=4B", family, 1, 0, 0) + struct.pack("!HH", own_port, peer_port) + b"".join(raw)
    head += struct.pack("=I8s5I", 0, bytes(8), 0, 0, 0, 0, 0)
    meminfo = struct.pack("=HH", 4 + 2, 1) + b"\1\2" + bytes(2)
    return head + meminfo + struct.pack("=HH", 4 + len(info), 2) + info


def tcp_info(segments: int, again: int, confirmed: int, busy_us: int, in_vain: int = 0) -> bytes:
    info = bytearray(232)
    for at, form, value in (
        (100, "=I", again),
        (120, "=Q", confirmed),
        (128, "=Q", 7_000),
        (156, "=I", segments),
        (168, "=Q", busy_us),
        (216, "=I", in_vain),
    ):
        struct.pack_into(form, info, at, value)
    return bytes(info)


INFO = tcp_info(1000, 20, 5_000_000, 2_500_000)
TRAFFIC = Traffic(1000, 20, 5_000_000, 2.5, 7_000)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("10.0.0.1", 40000, "10.0.0.2", 50000, INFO), [((40000, "10.0.0.2", 50000), TRAFFIC)]),
        (
            message("fd00::1", 40000, "fd00::2", 50000, INFO, socket.AF_INET6),
            [((40000, "fd00::2", 50000), TRAFFIC)],
        ),
        (
            message("::ffff:10.0.0.1", 40000, "::ffff:10.0.0.2", 50000, INFO, socket.AF_INET6),
            [((40000, "10.0.0.2", 50000), TRAFFIC)],
        ),
        pytest.param(
            message("10.0.0.1", 40000, "10.0.0.2", 50000, tcp_info(1000, 23, 5_000_000, 2_500_000, 3)),
            [((40000, "10.0.0.2", 50000), TRAFFIC)],
            id="the peer had some of what was sent again",
        ),
        pytest.param(
            message("10.0.0.1", 40000, "10.0.0.2", 50000, INFO[:216]),
            [((40000, "10.0.0.2", 50000), TRAFFIC)],
            id="before 4.19",
        ),
        pytest.param(message("10.0.0.1", 22, "10.0.0.2", 50000, INFO), [], id="ssh"),
        pytest.param(message("127.0.0.1", 1, "127.0.0.1", 2, INFO), [], id="loopback"),
        pytest.param(message("10.0.0.1", 1, "10.0.0.1", 2, INFO), [], id="within the host"),
        pytest.param(message("10.0.0.1", 1, "10.0.0.2", 2, INFO[:160]), [], id="an old kernel"),
        pytest.param(message("10.0.0.1", 1, "10.0.0.2", 2, INFO)[:40], [], id="cut"),
    ],
)
def test_an_answer(said: bytes, expected: object) -> None:
    assert list(tcp_peers.parsed(said)) == expected


def test_the_kernel_is_asked() -> None:
    """Connections within this host are left out: nothing is asserted of others that the machine may have."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        try:
            found = tcp_peers.connections()
        except OSError as error:
            pytest.skip(f"not permitted here: {error}")
    assert all(not address.startswith("127.") for _, address, _ in found)


def test_sums_by_peer() -> None:
    """Of two connections to one host, one of which was there before; and of ports that are used again."""
    old, new, other = (1, "10.0.0.2", 2), (3, "10.0.0.2", 4), (5, "10.0.0.3", 6)
    sums = TrafficSums({old: Traffic(500, 5, 1000, 1.0), other: Traffic(900, 90, 9000, 9.0)})
    sums.take({old: Traffic(600, 6, 2000, 1.5)})
    sums.take({old: Traffic(700, 7, 3000, 2.0), new: Traffic(100, 1, 500, 3.0), other: Traffic(10, 9, 100, 0.5)})
    assert sums.by_peer() == (Peer("10.0.0.3", 10, 9, 100, 0.5), Peer("10.0.0.2", 300, 3, 2500, 3.0))
