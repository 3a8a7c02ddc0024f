"""What stops ranks from meeting, found with real sockets and files."""

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from nccltool.launch.rendezvous import obstacles


@dataclass(frozen=True)
class Address:
    host: str
    port: int


def reason(host: str, port: int) -> str:
    found = obstacles.of_port(Address(host, port))
    return "" if found is None else found.reason


def test_a_port_that_a_program_has_is_taken_until_it_ends() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        assert reason("127.0.0.1", port) == f"port {port} is taken"
    assert reason("127.0.0.1", port) == ""


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("198.51.100.7", "198.51.100.7 is not an address of this host, where rank 0 runs"),
        ("nowhere.invalid", "nowhere.invalid does not resolve: "),
        ("localhost", ""),
    ],
)
def test_where_a_name_leads(host: str, said: str) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    assert reason(host, port).startswith(said)
    assert bool(reason(host, port)) == bool(said)


def test_a_file_of_another_run_and_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert obstacles.of_file(tmp_path / "new") is obstacles.of_file(tmp_path / "empty") is None
    (tmp_path / "old").write_text("init/")
    found = obstacles.of_file(tmp_path / "old")
    assert found is not None and found.prevents_trial
    assert found.reason == f"{tmp_path / 'old'} has data of another run, which torch would read"
    missing = obstacles.of_file(tmp_path / "no" / "store")
    assert missing is not None and missing.reason == f"{tmp_path / 'no'} cannot be used: No such file or directory"


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", no_locks)
    found = obstacles.of_file(tmp_path / "store")
    assert found is not None
    assert found.reason == f"the file system of {tmp_path} has no locks: {os.strerror(code)}"
    assert list(tmp_path.iterdir()) == []
