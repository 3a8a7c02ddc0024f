import re
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import measured_runs
from nccltool.probe import document as probe_document
from nccltool.probe.result import Run
from nccltool.train import document as train_document
from nccltool.train.result import TrainRun
from tests.compare.test_scaling import trained
from tests.plan.samples import H100


def saved(folder: Path, name: str, text: str) -> str:
    file = folder / f"{name}.json"
    file.write_text(text)
    return str(file)


def test_runs_of_both_kinds_are_read(measured_run: Run, tmp_path: Path) -> None:
    probe = saved(tmp_path, "probe", probe_document.to_json(measured_run))
    train = saved(tmp_path, "train", train_document.to_json(trained(2, 8, 0.2)))
    found = measured_runs.named(f"{probe},{train}", tmp_path)
    assert [isinstance(run, TrainRun) for run in found] == [False, True]


def test_an_empty_item_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has an empty item between commas"):
        measured_runs.named("a,,b", tmp_path)


def test_the_arithmetic_is_without_communication(tmp_path: Path) -> None:
    """A quarter of 0.2 s is exposed communication."""
    run = trained(2, 8, 0.2)
    file = saved(tmp_path, "train", train_document.to_json(run))
    machine = measured_runs.with_arithmetic(H100, file, tmp_path)
    alone = measured_runs.with_arithmetic(
        H100, saved(tmp_path, "alone", train_document.to_json(trained(1, 4, 0.15))), tmp_path
    )
    assert machine.training_flop_per_s == pytest.approx(alone.training_flop_per_s)


def test_a_training_that_was_not_timed_has_no_arithmetic(tmp_path: Path) -> None:
    run = trained(2, 8, 0.2)
    file = saved(
        tmp_path,
        "train",
        train_document.to_json(replace(run, trainings=(replace(run.trainings[0], step_time_s=None),))),
    )
    with pytest.raises(BadInput, match="no training there was timed"):
        measured_runs.with_arithmetic(H100, file, tmp_path)


@pytest.mark.parametrize(("name", "text"), [("heads", '"heads": 0'), ("width", '"width": 0')])
def test_a_damaged_training_has_no_arithmetic(name: str, text: str, tmp_path: Path) -> None:
    whole = train_document.to_json(trained(2, 8, 0.2))
    damaged = re.sub(rf'"{name}": ?\d+', text, whole)
    assert damaged != whole
    with pytest.raises(BadInput, match="no training there was timed"):
        measured_runs.with_arithmetic(H100, saved(tmp_path, "train", damaged), tmp_path)


@pytest.mark.parametrize(("text", "is_one"), [("45", True), ("45.5", True), ("2026x", False), ("1.2.3", False)])
def test_a_percentage_is_a_number(text: str, is_one: bool) -> None:
    assert measured_runs.is_percentage(text) is is_one
