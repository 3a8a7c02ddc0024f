"""Runs by their names: read, sorted, compared; a failed one is looked into."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.compare import baselines, run_samples
from nccltool.core.errors import BadInput
from nccltool.core.findings import FindingKind, Subject
from nccltool.launch import events
from nccltool.launch import finding_kinds as launch_kinds
from nccltool.probe import document, finding_kinds
from nccltool.probe.result import Run
from nccltool.report import gather, html_data, page
from tests import samples
from tests.report import materials

COMMAND = ("nccltool", "report")


def _keep(base: Path, run: Run, lines: bytes = b"", log: str = "") -> str:
    folder = base / run.info.id
    folder.mkdir(parents=True)
    (folder / "job.json").write_text("{}")
    (folder / "run.json").write_text(document.to_json(run))
    (folder / "events.jsonl").write_bytes(lines)
    (folder / "log.txt").write_text(log)
    return run.info.id


def _two(base: Path) -> tuple[str, str]:
    b = materials.swept("20250103T030405Z-beef", slow=20.0)
    b = replace(b, info=replace(b.info, started="2025-01-03T03:04:05Z"))
    return _keep(base, materials.swept()), _keep(base, b)


def test_runs_come_oldest_first_and_once(tmp_path: Path) -> None:
    a, b = _two(tmp_path)
    made = gather.material((b, a, b), tmp_path, None, COMMAND)
    assert [one.run.info.id for one in made.runs] == [a, b]
    assert json.loads(made.runs[0].document)["run"]["id"] == a


def test_the_second_of_two_is_compared_with_the_first(tmp_path: Path) -> None:
    made = gather.material(_two(tmp_path), tmp_path, None, COMMAND)
    assert made.comparison is not None
    assert made.comparison.outcome == "worse"
    assert sorted(set(made.before.values())) == pytest.approx([0.75e9, 1e9, 1.5e9])


def test_runs_that_cannot_be_compared_are_still_reported(tmp_path: Path) -> None:
    a = _keep(tmp_path, materials.swept())
    other = materials.swept("20250103T030405Z-beef")
    b = _keep(tmp_path, replace(other, info=replace(other.info, world_size=8)))
    made = gather.material((a, b), tmp_path, None, COMMAND)
    assert made.comparison is None
    assert "not comparable: ranks" in made.not_compared


def test_a_baseline_is_what_the_newest_is_compared_with(tmp_path: Path) -> None:
    _, b = _two(tmp_path)
    run = materials.swept()
    store = tmp_path / "b.sqlite"
    baselines.Store(store).save("good", "", [run_samples.of_run(run.info, run.measurements)], "new")
    made = gather.material((b,), tmp_path, gather.baseline("good", str(store)), COMMAND)
    assert made.before_name == "baseline good"
    assert made.comparison is not None
    assert made.comparison.outcome == "worse"
    with pytest.raises(BadInput, match="godo"):
        gather.baseline("godo", str(store))


def test_a_failed_run_is_looked_into(tmp_path: Path) -> None:
    exits = events.encode(events.Exited(rank=1, code=-9))
    log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    name = _keep(tmp_path, samples.failing_run(), exits, log)
    made = gather.material((name,), tmp_path, None, COMMAND)
    assert made.incident is not None
    assert made.incident.root_cause == "out-of-memory"
    assert [one.what for one in made.stretches] == ["killed by signal 9"]


@pytest.mark.parametrize("kind", [finding_kinds.BUSBW_LOW, launch_kinds.RANK_DIED])
def test_what_the_run_found_itself_is_no_evidence_for_it(tmp_path: Path, kind: FindingKind) -> None:
    found = kind.finding(subject=Subject(kind="rank", name="1"), message="it is wrong")
    name = _keep(tmp_path, replace(samples.failing_run(), findings=(found,)), log="[rank 0] nothing to see\n")
    assert gather.material((name,), tmp_path, None, COMMAND).incident is None


def test_a_document_without_its_folder_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.json"
    file.write_text(document.to_json(samples.failing_run()))
    made = gather.material((str(file),), tmp_path, None, COMMAND)
    assert (made.runs[0].folder, made.incident, made.stretches) == (None, None, ())


def test_runs_inside_an_earlier_report_are_runs(tmp_path: Path) -> None:
    file = tmp_path / "monday.html"
    documents = page.of(materials.compared()).documents
    file.write_text(f"<!doctype html>{html_data.block(documents)}")
    made = gather.material((str(file),), tmp_path, None, COMMAND)
    assert [one.run for one in made.runs] == [one.run for one in materials.compared().runs]
    assert made.comparison is not None


@pytest.mark.parametrize(
    ("names", "said"), [(("nothing",), "nothing"), (tuple(map(str, range(401))), "401 runs are too many")]
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        gather.material(names, tmp_path, None, COMMAND)
