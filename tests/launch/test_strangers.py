"""What is said of connections without the secret, and of a run that has none."""

import pytest

from nccltool.launch import events, strangers
from nccltool.launch.run_state import RunState
from tests.samples import job

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("connections", "addresses", "message", "evidence"),
    [
        (1, ("10.0.0.9",), "1 connection to the ports of this run did", "from 10.0.0.9"),
        (
            70,
            ("::ffff:10.0.0.9", "fd00::1"),
            "70 connections to the ports of this run did",
            "from 10.0.0.9, fd00::1",
        ),
    ],
)
def test_who_was_refused(connections: int, addresses: tuple[str, ...], message: str, evidence: str) -> None:
    finding = strangers.refused(connections, addresses)
    assert (finding.code, finding.severity) == ("strangers-refused", "info")
    assert finding.message.startswith(message)
    assert finding.evidence == (evidence,)


def test_all_of_a_run_are_one_finding_and_no_progress() -> None:
    """A hang is found however long strangers knock."""
    state = RunState(job(), 2, now=1.0)
    for now in range(2, 5):
        state.apply(events.Refused(connections=10, addresses=(f"10.0.0.{now}",)), float(now))
    (finding,) = state.findings
    assert finding == strangers.refused(30, ("10.0.0.2", "10.0.0.3", "10.0.0.4"))
    assert state.progress_at == 1.0


@pytest.mark.parametrize(("is_of_launcher", "severity"), [(False, "warning"), (True, "info")])
def test_a_run_without_a_secret(is_of_launcher: bool, severity: str) -> None:
    finding = strangers.unprotected("10.0.0.1", 29500, is_of_launcher)
    assert (finding.code, finding.severity) == ("no-run-secret", severity)
    assert "10.0.0.1:29500" in finding.message
