"""Host headers that are answered."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.monitor import host_headers


@pytest.fixture(autouse=True)
def this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "N1.cluster.example")


@pytest.mark.parametrize(
    ("header", "is_allowed"),
    [
        (None, True),
        (b"127.0.0.1:9779", True),
        (b"10.1.2.3", True),
        (b"[::1]:9779", True),
        (b"localhost:9779", True),
        (b"n1:9779", True),
        (b"n1.cluster.example.", True),
        (b"metrics.example:9779", True),
        (b"Exporter.Example", True),
        (b"evil.example", False),
        (b"n1.evil.example", False),
        (b"127.0.0.1.evil.example", False),
        (b"127.0.0.1@evil.example", False),
        (b"", False),
        (b"[::1", False),
        (b"\xff", False),
    ],
)
def test_names_of_this_server_are_answered(header: bytes | None, is_allowed: bool) -> None:
    known = host_headers.names("metrics.example:9779", ["Exporter.example"])
    assert host_headers.is_allowed(header, known) == is_allowed


def test_any_name() -> None:
    assert host_headers.is_allowed(b"evil.example", host_headers.names(":9779", ["*"]))


@pytest.mark.parametrize("name", ["http://n1", "n1:9779", "", "a b", "-n"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(BadInput, match="--allowed-host"):
        host_headers.names(":9779", [name])
