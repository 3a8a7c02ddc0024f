"""The run directory as monitoring sees it: runs that ended, did not, are damaged, or are too old."""

import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from nccltool.compare.result import Against
from nccltool.core.documents import RunInfo
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.monitor import metrics
from nccltool.monitor.run_cache import RunCache, RunScan
from nccltool.probe.document import to_json
from nccltool.probe.result import Measurement, Run
from tests import samples
from tests.monitor.test_metrics import baseline_row

NOW = metrics.unix_time("2025-01-02T04:00:00Z")
DAY_S = 86400.0


def put(base: Path, started: str, *rows: Measurement, status: str = "pass", document: bool = True) -> Path:
    """A run in a folder; `started` is a time of 2025-01-02."""
    run_id = f"20250102T{started.replace(':', '')}Z-beef"
    folder = run_dir_of(base, samples.job(run_id=run_id, deadline_s=600.0))
    if document:
        verdict = Verdict(status=status, exit_code=0)  # type: ignore[arg-type]
        info = samples.info(id=run_id, started=f"2025-01-02T{started}Z")
        folder.finish(to_json(Run(info=info, verdict=verdict, measurements=rows, findings=())))
    folder.close()
    return folder.path


def of(seen: RunScan, name: str) -> dict[tuple[str, ...], float]:
    return {sample.labels: sample.value for sample in seen.samples() if sample.metric == name}


def test_of_each_row_the_newest_number(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00", samples.measurement(busbw_bytes_per_s=1.0), samples.measurement(bytes=8))
    put(tmp_path, "03:30:00", samples.measurement(busbw_bytes_per_s=2.0), status="fail")
    seen = RunCache(tmp_path, DAY_S).look(NOW)
    found = {labels[1]: value for labels, value in of(seen, "bus_bandwidth_bytes_per_second").items()}
    assert found[str(2**20)] == 2.0
    assert "8" in found
    assert of(seen, "last_run_success") == {("probe",): 0.0}
    assert of(seen, "last_run_timestamp_seconds") == {("probe",): metrics.unix_time("2025-01-02T03:30:00Z")}
    assert of(seen, "damaged_runs") == {(): 0.0}
    assert of(seen, "run_directory_readable") == {(): 1.0}
    assert [entry.id for entry in seen.entries] == ["20250102T033000Z-beef", "20250102T030000Z-beef"]


def test_numbers_that_are_too_old_are_not_shown_but_that_there_was_a_run_is(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00", samples.measurement())
    seen = RunCache(tmp_path, 60.0).look(NOW)
    assert not of(seen, "bus_bandwidth_bytes_per_second")
    assert of(seen, "last_run_timestamp_seconds") == {("probe",): metrics.unix_time("2025-01-02T03:00:00Z")}


@pytest.mark.parametrize(("started", "failed"), [("03:00:00", True), ("03:48:59", True), ("03:55:00", False)])
def test_a_run_without_an_end_failed_once_its_deadline_has_passed(
    tmp_path: Path, started: str, failed: bool
) -> None:
    put(tmp_path, "02:00:00")
    put(tmp_path, started, document=False)
    seen = RunCache(tmp_path, DAY_S).look(NOW)
    assert of(seen, "last_run_success") == {("probe",): 0.0 if failed else 1.0}
    assert [entry.status for entry in seen.entries] == (["incomplete", "pass"] if failed else ["pass"])


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b'{"schema": 99, "kind": "probe"}', b"[" * 100000])
def test_a_damaged_run_is_counted_and_hides_nothing(tmp_path: Path, text: bytes) -> None:
    put(tmp_path, "03:00:00")
    (put(tmp_path, "03:10:00") / "run.json").write_bytes(text)
    seen = RunCache(tmp_path, DAY_S).look(NOW)
    assert of(seen, "damaged_runs") == {(): 1.0}
    assert of(seen, "last_run_success") == {("probe",): 1.0}
    assert [entry.status for entry in seen.entries] == ["unknown", "pass"]


def test_what_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "folder").mkdir()
    seen = RunCache(tmp_path, DAY_S).look(NOW)
    assert (seen.entries, of(seen, "damaged_runs")) == ((), {(): 0.0})


def test_a_run_directory_that_goes_away_takes_its_numbers_with_it(tmp_path: Path) -> None:
    base = tmp_path / "runs"
    put(base, "03:00:00", samples.measurement())
    shelf = RunCache(base, DAY_S)
    assert of(shelf.look(NOW), "bus_bandwidth_bytes_per_second")
    base.rename(tmp_path / "elsewhere")
    seen = shelf.look(NOW)
    assert [(sample.metric, sample.value) for sample in seen.samples()] == [("run_directory_readable", 0.0)]
    assert "is not a folder" in seen.problem
    (tmp_path / "elsewhere").rename(base)
    assert of(shelf.look(NOW), "bus_bandwidth_bytes_per_second")


def test_a_run_that_changed_is_read_again(tmp_path: Path) -> None:
    folder = put(tmp_path, "03:00:00", samples.measurement())
    shelf = RunCache(tmp_path, DAY_S)
    assert of(shelf.look(NOW), "last_run_success") == {("probe",): 1.0}
    text = (folder / "run.json").read_text().replace('"status": "pass"', '"status": "fail"')
    (folder / "run.json").write_text(text)
    os.utime(folder / "run.json", ns=(1, 1))
    assert of(shelf.look(NOW), "last_run_success") == {("probe",): 0.0}


def test_a_run_that_is_shown_is_held_against_the_baseline_and_an_old_one_is_not(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00", samples.measurement())
    put(tmp_path, "03:30:00", samples.measurement())
    asked = []

    def against(info: RunInfo, measurements: Sequence[Measurement]) -> list[Against]:
        asked.append(info.id)
        return [baseline_row("warn", 5e8, 1e9)]

    seen = RunCache(tmp_path, 3600.0, against).look(NOW)
    assert of(seen, "baseline_ratio") == {("all_reduce", "8", "2", "4"): 0.5}
    assert asked == ["20250102T033000Z-beef", "20250102T030000Z-beef"]
    assert not of(RunCache(tmp_path, 60.0, against).look(NOW), "baseline_ratio")


def test_where_nothing_is_new_the_same_is_seen(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00", samples.measurement())
    shelf = RunCache(tmp_path, 3 * 3600.0)
    seen = shelf.look(NOW)
    assert shelf.look(NOW + 1) == seen
    put(tmp_path, "03:30:00", samples.measurement(bytes=8))
    more = shelf.look(NOW + 2)
    assert len(of(more, "bus_bandwidth_bytes_per_second")) == 2
    assert shelf.look(NOW + 3) == more
    aged = shelf.look(NOW + DAY_S)
    assert not of(aged, "bus_bandwidth_bytes_per_second")
    away = tmp_path.rename(tmp_path.with_name("away"))
    assert shelf.look(NOW + DAY_S).problem
    away.rename(tmp_path)
    assert shelf.look(NOW + DAY_S) == aged


def test_a_run_of_tomorrow_does_not_look_fresh_for_ever(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00")
    put(tmp_path, "03:30:00", samples.measurement(), status="fail")
    shelf = RunCache(tmp_path, DAY_S)
    early = shelf.look(NOW - 2 * 3600.0)
    assert (of(early, "damaged_runs"), of(early, "last_run_success")) == ({(): 1.0}, {("probe",): 1.0})
    assert not of(early, "bus_bandwidth_bytes_per_second")
    seen = shelf.look(NOW - 3600.0)
    assert (of(seen, "damaged_runs"), of(seen, "last_run_success")) == ({(): 0.0}, {("probe",): 0.0})


def test_a_run_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    shelf = RunCache(tmp_path, DAY_S)
    for minute in range(3):
        folder = put(tmp_path, f"03:0{minute}:00", samples.measurement())
        shelf.look(NOW)
        shutil.rmtree(folder)
        shelf.look(NOW)
    assert not shelf._read


def test_a_damaged_run_that_is_mended_is_shown_although_its_time_is_the_same(tmp_path: Path) -> None:
    file = put(tmp_path, "03:00:00") / "run.json"
    whole, when = file.read_bytes(), file.stat().st_mtime_ns
    shelf = RunCache(tmp_path, DAY_S)
    for text, damaged in ((b"{", 1.0), (whole, 0.0)):
        file.write_bytes(text)
        os.utime(file, ns=(when, when))
        assert of(shelf.look(NOW), "damaged_runs") == {(): damaged}


def test_a_pipe_and_a_number_without_end_are_damaged_runs(tmp_path: Path) -> None:
    put(tmp_path, "03:00:00")
    os.mkfifo(put(tmp_path, "03:10:00", document=False) / "run.json")
    file = put(tmp_path, "03:20:00", samples.measurement(wrong=77)) / "run.json"
    file.write_text(file.read_text().replace("77", "7" * 400))
    looked: list[RunScan] = []
    looking = threading.Thread(target=lambda: looked.append(RunCache(tmp_path, DAY_S).look(NOW)), daemon=True)
    looking.start()
    looking.join(30.0)
    [seen] = looked
    assert of(seen, "damaged_runs") == {(): 2.0}
    assert of(seen, "last_run_success") == {("probe",): 1.0}
