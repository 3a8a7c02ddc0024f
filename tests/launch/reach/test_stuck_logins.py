"""Logins that hang: what was seen of them before they were given up."""

from collections.abc import Collection
from types import SimpleNamespace
from typing import cast

import pytest

from nccltool.core.findings import FindingKind, Subject
from nccltool.hosts.sources import tcp_table
from nccltool.launch import finding_kinds
from nccltool.launch.meeting import Meeting
from nccltool.launch.reach.stuck_logins import StuckLogins
from nccltool.launch.session import NodeProcess
from tests.samples import job


class Login:
    """A node process and its ssh, which may have ended."""

    def __init__(self, node: int) -> None:
        self.command = SimpleNamespace(nodes=(node,))
        self.process = SimpleNamespace(pid=100 + node, poll=lambda: self.code)
        self.code: int | None = None


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Bytes that nobody confirms, by session; one without an entry has no connection."""
    now: dict[int, int] = {}

    def read(sessions: Collection[int]) -> dict[int, int]:
        return {session: now[session] for session in sessions if session in now}

    monkeypatch.setattr(tcp_table, "stuck_bytes", read)
    return now


def two() -> tuple[Meeting, list[Login], list[NodeProcess]]:
    logins = [Login(0), Login(1)]
    hosts = {0: "n1", 1: "n2"}
    meeting = Meeting(job(nodes=2, remote=True), hosts, False, 0.0, slowness=lambda: 1.0)
    return meeting, logins, cast(list[NodeProcess], logins)


@pytest.mark.parametrize(("bytes_stuck", "code"), [({101: 1560}, "large-packets-lost"), ({}, "host-silent")])
def test_a_login_that_is_given_up(stuck: dict[int, int], bytes_stuck: dict[int, int], code: str) -> None:
    meeting, _, processes = two()
    stuck |= bytes_stuck
    meeting.step(100.0)
    StuckLogins(0.0).judge(meeting, processes, 100.0)
    assert (meeting.lost[1].code, meeting.lost[0].code, meeting.silent) == (code, "host-silent", [])


@pytest.mark.parametrize(
    ("exit_code", "said", "code"),
    [
        (255, finding_kinds.HOST_UNREACHABLE, "large-packets-lost"),
        (255, finding_kinds.HOST_REFUSED, "host-refused"),
        (255, None, "large-packets-lost"),
        (None, None, "large-packets-lost"),
    ],
)
def test_an_ssh_that_ends_with_its_connection(
    stuck: dict[int, int], exit_code: int | None, said: FindingKind | None, code: str
) -> None:
    """Before we give the login up, or in the moment after that (no word): what was seen before counts. ssh closes
    its connection before it ends (no exit code)."""
    meeting, logins, processes = two()
    watch = StuckLogins(0.0)
    stuck[101] = 2768
    watch.judge(meeting, processes, 14.0)
    stuck.clear()
    logins[1].code = exit_code
    if said is not None:
        meeting.lose(1, said.finding(subject=Subject(kind="host", name="n2"), message="n2: no"))
    meeting.step(100.0)
    watch.judge(meeting, processes, 100.0)
    assert meeting.lost[1].code == code


def test_a_login_that_recovers_is_not_blamed(stuck: dict[int, int]) -> None:
    meeting, _, processes = two()
    watch = StuckLogins(0.0)
    stuck[101] = 2768
    watch.judge(meeting, processes, 2.0)
    stuck[101] = 0
    watch.judge(meeting, processes, 4.0)
    meeting.step(100.0)
    watch.judge(meeting, processes, 100.0)
    assert meeting.lost[1].code == "host-silent"
