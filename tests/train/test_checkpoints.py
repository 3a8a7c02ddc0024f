"""Folders of checkpoints: which one is taken, and why others are not."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from nccltool.train import checkpoints
from nccltool.train.checkpoints import DamagedCheckpoint, Mark
from nccltool.train.job import TrainSpec

SPEC = TrainSpec(strategies=("ddp",))
PART = "__0_0.distcp"


def tick() -> None:
    """Nobody watches."""


def saved(folder: Path, step: int, content: bytes = b"numbers") -> Path:
    """As the ranks do it: written under another name, then published."""
    path = checkpoints.saving(folder, step, "t")
    path.mkdir(parents=True)
    (path / PART).write_bytes(content)
    files = {PART: checkpoints.look_at(path / PART, tick)}
    trained = checkpoints.trained(SPEC)
    mark = Mark(strategy=folder.name, step=step, ranks=2, sequences=8, trained=trained, files=files)
    return checkpoints.publish(path, mark)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "ddp"
    for step in (2, 4):
        saved(place, step)
    return place


def test_the_newest_whole_one_is_taken(folder: Path) -> None:
    mark, skipped = checkpoints.newest(folder, tick)
    assert (mark and mark.step, skipped) == (4, [])
    assert checkpoints.newest(folder.parent / "fsdp", tick) == (None, [])


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def forge(path: Path) -> None:
    mark = json.loads(path.read_text())
    path.write_text(json.dumps({**mark, "step": 4, "sequences": 16}))


def of_the_future(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))


def from_elsewhere(path: Path) -> None:
    """A whole one under another name."""
    path.write_bytes((path.parent.parent / "step-000002" / path.name).read_bytes())


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        (PART, shorten, "__0_0.distcp has 4 bytes, expected 7"),
        (PART, change, "__0_0.distcp has changed (its SHA-256 does not match)"),
        (PART, Path.unlink, "__0_0.distcp is missing"),
        ("complete.json", Path.unlink, "it has no complete.json: it was not written completely"),
        ("complete.json", shorten, "complete.json is truncated or has changed"),
        ("complete.json", forge, "complete.json has changed (its SHA-256 does not match)"),
        ("complete.json", of_the_future, "its format is 2, but this nccltool reads 1"),
        ("complete.json", from_elsewhere, "complete.json belongs to step 2 of ddp"),
    ],
)
def test_a_damaged_one_is_skipped_with_the_reason(
    folder: Path, name: str, damage: Callable[[Path], None], reason: str
) -> None:
    newest = checkpoints.named(folder, 4)
    damage(newest / name)
    mark, skipped = checkpoints.newest(folder, tick)
    assert (mark and mark.step, skipped) == (2, [(newest, reason)])


def test_every_byte_of_the_mark_counts(folder: Path) -> None:
    file = checkpoints.named(folder, 4) / checkpoints.MARK
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamagedCheckpoint):
            checkpoints.verified(file.parent, tick)


def test_one_that_was_cut_short_has_no_name(folder: Path) -> None:
    path = checkpoints.saving(folder, 6, "t")
    path.mkdir()
    (path / PART).write_bytes(b"numb")
    mark, skipped = checkpoints.newest(folder, tick)
    assert (mark and mark.step, skipped, checkpoints.unfinished(folder)) == (4, [], [path])


def test_a_few_stay_and_a_damaged_one_is_replaced(folder: Path) -> None:
    shorten(checkpoints.named(folder, 4) / PART)
    for step in (3, 4, 5, 6):
        saved(folder, step)
    assert checkpoints.steps(folder) == [6, 5, 4]
    assert checkpoints.newest(folder, tick)[1] == []
    assert sorted(path.name for path in folder.iterdir()) == ["step-000004", "step-000005", "step-000006"]


def test_newer_ones_that_are_damaged_do_not_count_among_those_that_stay(folder: Path) -> None:
    for step in (6, 8, 9):
        shutil.copytree(checkpoints.named(folder, 4), checkpoints.named(folder, step))
    saved(folder, 5)
    assert checkpoints.steps(folder) == [9, 8, 6, 5, 4, 2]


def test_another_training_is_told_by_its_options(folder: Path) -> None:
    mark = checkpoints.read(checkpoints.named(folder, 4))
    assert checkpoints.other_training(mark, replace(SPEC, batch=8, steps=9, options={"accumulate": 2})) == ""
    other = replace(SPEC, width=128, learning_rate=0.2)
    said = checkpoints.other_training(mark, other)
    assert said == (
        "--width is 64 in the checkpoint and 128 here, --learning-rate is 0.1 in the checkpoint and 0.2 here"
    )


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ({}, "", ""),
        ({"data": "a"}, "a", ""),
        ({"data": "a"}, "b", "--data had other files"),
        ({"data": "a"}, "", "it was trained with --data"),
        ({}, "b", "it was trained without --data"),
    ],
)
def test_another_input_is_another_training(folder: Path, then: dict[str, str], now: str, said: str) -> None:
    mark = checkpoints.read(checkpoints.named(folder, 4))
    mark = msgspec.structs.replace(mark, trained=mark.trained | then)
    assert checkpoints.other_training(mark, SPEC) == ""
    assert checkpoints.other_input(mark, now) == said


def test_the_last_step_is_known_once_there_is_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "ddp"
    checkpoints.note_step(folder, 3)
    assert checkpoints.noted_step(folder) is None
    saved(folder, 4)
    checkpoints.note_step(folder, 5)
    step, seconds = checkpoints.noted_step(folder) or (0, 0.0)
    assert (step, seconds >= -0.001) == (5, True)
    newest, _ = checkpoints.newest(folder, tick)
    assert newest is not None and newest.step == 4


@pytest.mark.parametrize("text", ["", "5", "5 x", "x 1.0", "\xff", "5 1 2"])
def test_a_note_that_was_cut_short_is_not_known(text: str, tmp_path: Path) -> None:
    (tmp_path / ".reached-ddp").write_bytes(text.encode("latin-1"))
    assert checkpoints.noted_step(tmp_path / "ddp") is None
