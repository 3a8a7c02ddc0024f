"""Logs in other words than those that the patterns were first made for."""

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs import Reader
from nccltool.triage.timeline import Builder
from tests.incidents import VARIANTS, Incident


@pytest.mark.parametrize("incident", VARIANTS, ids=str)
def test_the_root_cause_and_the_offender_of_a_variant(incident: Incident) -> None:
    reader, builder = Reader(), Builder()
    for event in reader.read("a.log", [incident.log.encode()]):
        builder.add(event)
    judged = judge(builder.story(reader.lines_read))
    assert judged.root_cause == incident.root_cause, judged.candidates
    if incident.offender:
        assert judged.offender and judged.offender.name == incident.offender
