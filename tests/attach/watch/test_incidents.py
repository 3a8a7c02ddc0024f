"""One alert for each incident."""

import pytest

from nccltool.attach.judge.result import JobState
from nccltool.attach.watch.incidents import IncidentLog


@pytest.mark.parametrize(
    ("states", "events"),
    [
        (["healthy", "hung", "hung", "unknown", "hung"], ["", "opened", "", "", ""]),
        (["slow", "slow", "hung", "hung", "slow"], ["opened", "", "worse", "", ""]),
        (["hung", "healthy", "hung", "healthy", "healthy"], ["opened", "", "", "", "closed"]),
        (["slow", "healthy", "unknown", "healthy", "slow"], ["opened", "", "", "closed", "opened"]),
        (["hung", "ending", "ending", "starting"], ["opened", "", "closed", ""]),
        (["unknown", "healthy", "starting"], ["", "", ""]),
    ],
)
def test_events(states: list[JobState], events: list[str]) -> None:
    log = IncidentLog()
    assert [log.add(state, f"{state}: why", at) for at, state in enumerate(states)] == events
    assert len(log.incidents) == events.count("opened")


def test_the_job_is_no_longer_there() -> None:
    log = IncidentLog()
    log.add("hung", "hung", 1)
    assert [log.end(2), log.end(3), log.open] == ["closed", "", None]


def test_an_incident_has_a_beginning_and_an_end() -> None:
    log = IncidentLog()
    for at, state in enumerate(("slow", "hung", "healthy", "healthy")):
        log.add(state, state, at)  # type: ignore[arg-type]
    (one,) = log.incidents
    assert (one.state, one.message, one.began_s, one.ended_s) == ("hung", "hung", 0, 3)
    assert log.open is None
