"""Logs in other words than those that the patterns were first made for."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from tests.incidents import VARIANTS, Incident


@pytest.mark.parametrize("incident", VARIANTS, ids=str)
def test_the_root_cause_and_the_offender_of_a_variant(incident: Incident) -> None:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [incident.log.encode()]):
        builder.add(event)
    diagnosis = judge(builder.timeline(reader.lines_read))
    assert diagnosis.root_cause == incident.root_cause, diagnosis.candidates
    if incident.offender:
        assert diagnosis.offender and diagnosis.offender.name == incident.offender
