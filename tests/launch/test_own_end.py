"""Hosts of which none was reached, or answers any more, and the one that called them."""

import socket
import time
from dataclasses import dataclass
from typing import cast

import pytest

from nccltool.core.findings import Finding, Subject
from nccltool.hosts.sources import tcp_calls
from nccltool.launch import own_end
from nccltool.launch.launchers.base import Command
from nccltool.launch.session import NodeProcess


def lost(code: str) -> Finding:
    return Finding(code=code, severity="error", subject=Subject(kind="host", name="n2"), message=f"n2: {code}")


@pytest.mark.parametrize(
    ("others", "codes", "expected"),
    [
        (2, ("host-unreachable", "host-unreachable"), "host-unreachable"),
        (2, ("large-packets-lost", "large-packets-lost"), "large-packets-lost"),
        (2, ("host-unreachable", "host-refused"), ""),
        (2, ("host-silent", "host-silent"), ""),
        (3, ("host-unreachable", "host-unreachable"), ""),
        (1, ("host-unreachable",), ""),
        (0, (), ""),
    ],
)
def test_who_stands_out(others: int, codes: tuple[str, ...], expected: str) -> None:
    found = own_end.of_lost("n1", others, [lost(code) for code in codes])
    assert (found.code if found else "") == expected
    if found:
        assert (found.subject.name, found.evidence) == ("n1", tuple(f"n2: {code}" for code in codes))


@dataclass
class Ssh:
    """To the host of a node."""

    node: int
    login: tuple[str, int] | None = None
    code: int | None = None
    silent_s: float = 60.0

    @property
    def command(self) -> Command:
        return Command(argv=("ssh",), nodes=(self.node,), host=f"n{self.node + 1}")

    @property
    def heard_at(self) -> float:
        return time.monotonic() - self.silent_s

    def exit_code(self) -> int | None:
        return self.code


def ssh(node: int, code: int | None = None) -> Ssh:
    return Ssh(node, (f"10.77.0.{node + 1}", 22), code)


@pytest.mark.parametrize(
    ("sessions", "answering", "is_cut"),
    [
        pytest.param([ssh(0), ssh(1), ssh(2)], (), True, id="nobody answers"),
        pytest.param([ssh(0), ssh(1, 255), ssh(2, 255)], (), True, id="and logins have ended for it"),
        pytest.param([ssh(0), ssh(1), ssh(2)], ("10.77.0.2",), False, id="n3 is cut off, and n2 slow"),
        pytest.param([ssh(0), ssh(1, 0), ssh(2, 255)], ("10.77.0.2",), False, id="n3 is cut off, n2 has ended"),
        pytest.param([ssh(0), ssh(1)], (), False, id="of two hosts, nobody knows which"),
        pytest.param([ssh(0), Ssh(1), Ssh(2)], (), True, id="through a proxy, all silent"),
        pytest.param([ssh(0), Ssh(1), Ssh(2, silent_s=3.0)], (), False, id="through a proxy, one heard"),
        pytest.param([ssh(0), Ssh(1), Ssh(2, code=1)], (), False, id="through a proxy, one has ended"),
        pytest.param([ssh(0), ssh(1), Ssh(2, silent_s=3.0)], (), False, id="one through a proxy"),
    ],
)
def test_who_is_cut_off(
    sessions: list[Ssh], answering: tuple[str, ...], is_cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp_calls, "any_answers", lambda called: any(host in answering for host, _ in called))
    found = own_end.cut_off(cast(list[NodeProcess], sessions), {0}, [lost("host-lost")], lambda: None)
    assert (found is not None) == is_cut
    if found:
        assert found.subject.name == socket.gethostname()
        assert found.evidence == ("other hosts: n2, n3", "n2: host-lost")


def test_who_lets_no_new_logins_in_but_is_heard_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_calls, "any_answers", lambda called: False)
    sessions = [ssh(0), ssh(1), ssh(2)]

    def listen() -> None:
        sessions[2].silent_s = 0.0

    assert own_end.cut_off(cast(list[NodeProcess], sessions), {0}, [lost("hang")], listen) is None
