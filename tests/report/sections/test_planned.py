"""Measured and predicted steps in a report."""

from nccltool.report.material import Material, ReportedRun
from nccltool.report.parts import NotePart, TablePart
from nccltool.report.sections import planned
from tests.plan.test_scaling import _BYTES, RUNS, probed


def of(*runs: object) -> Material:
    return Material(runs=tuple(ReportedRun(run=run, document=b"{}") for run in runs))  # type: ignore[arg-type]


def test_trainings_and_a_probe_have_a_plan() -> None:
    section = planned.of(of(*RUNS, probed(_BYTES / 0.01)))
    assert section is not None
    assert section.headline == "Predicted times of a step differ from measured ones by at most 42%."
    table, note = section.parts
    assert isinstance(table, TablePart)
    assert [row[0] for row in table.rows] == ["1", "2", "4"]
    assert isinstance(note, NotePart)
    assert note.text.startswith("from 2 to 4 ranks, efficiency falls from 91% to 50%")


def test_without_a_probe_there_is_none() -> None:
    assert planned.of(of(*RUNS)) is None
