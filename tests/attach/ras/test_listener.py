"""Which process accepted a connection."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nccltool.attach.ras.listener import accepted_by


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=5) as client:
            yield client, server


def test_not_accepted_yet(connection: tuple[socket.socket, socket.socket]) -> None:
    """The kernel has the connection; no process has."""
    assert accepted_by(connection[0], [os.getpid()]) is None


def test_ours_and_another_process(connection: tuple[socket.socket, socket.socket]) -> None:
    client, server = connection
    with server.accept()[0]:
        assert accepted_by(client, [os.getppid(), os.getpid()]) == os.getpid()
        assert accepted_by(client, [os.getppid()]) == 0


def test_what_cannot_be_told(connection: tuple[socket.socket, socket.socket], tmp_path: Path) -> None:
    client, server = connection
    with server.accept()[0]:
        assert accepted_by(client, []) is None
        assert accepted_by(client, [2**22 + 1]) is None  # gone
        assert accepted_by(client, [os.getpid()], proc=tmp_path) is None
