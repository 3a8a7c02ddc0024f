"""Incidents as JUnit XML, for what shows the results of tests: a suite a job, with one test case."""

from collections.abc import Iterable

from nccltool.core import junit
from nccltool.core.junit import JunitSuite
from nccltool.triage.incident import Incident


def render(told: Iterable[tuple[Incident, str, str]]) -> str:
    """Each with its headline, and what people read of it, whose first line is the headline."""
    return junit.report("triage", suites(told))


def suites(told: Iterable[tuple[Incident, str, str]]) -> list[JunitSuite]:
    """What formats for results of tests share."""
    return [
        JunitSuite(
            command="triage",
            info=incident.info,
            verdict=incident.verdict,
            headline=headline,
            text=text.partition("\n")[2].strip("\n"),
        )
        for incident, headline, text in told
    ]
