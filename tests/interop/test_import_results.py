"""Every sample becomes the runs that are stored beside it, and the worst of them gives the exit code."""

import os
from dataclasses import replace

import pytest

from nccltool.core.verdicts import Status
from nccltool.interop import import_results
from nccltool.interop.import_results import Imported
from nccltool.interop.importers import Told
from nccltool.probe.result import Measurement
from tests.interop.importers import samples

GOLDEN = samples.FOLDER.parent / "golden"

every = pytest.mark.parametrize("name", samples.READ)


def imported(name: str) -> tuple[Imported, ...]:
    return import_results.read([name], samples.told(name), ("nccltool", "import", name))


@pytest.fixture(autouse=True)
def _beside_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(samples.FOLDER)


def shown(name: str) -> str:
    """The runs of a sample."""
    return shown_runs(imported(name))


def shown_runs(found: tuple[Imported, ...]) -> str:
    """Runs, without what differs from import to import."""
    lines = []
    for each in found:
        info, verdict = each.run.info, each.run.verdict
        lines.append(f"{info.backend} {info.backend_version}, {info.backend_reason}")
        lines.append(f"{info.world_size} ranks on {info.nodes} nodes: {' '.join(info.hosts)}")
        lines += [row_of(measurement) for measurement in each.run.measurements]
        for finding in each.run.findings:
            lines.append(f"{finding.severity} {finding.code}: {finding.message}")
            lines += [f"    {line}" for line in finding.evidence]
        lines.append(f"{verdict.status}, exit code {verdict.exit_code}\n")
    return "\n".join(lines)


def row_of(row: Measurement) -> str:
    times = row.time_s
    single = [times.min, times.median, times.p90, times.p99, times.max, *(times.ci95 or ())]
    known = " ".join(f"{seconds * 1e6:.6g}" for seconds in single if seconds is not None)
    return (
        f"{row.op} {row.bytes} B = {row.bytes_per_rank} B a rank, count {row.count} {row.dtype} {row.reduce_op}, "
        f"{row.placement} {row.cadence}, {row.iterations} x {times.mean * 1e6:.6g} us ({known}), "
        f"{row.algbw_bytes_per_s / 1e9:.6g} {row.busbw_bytes_per_s / 1e9:.6g} GB/s, wrong {row.wrong}"
    )


@every
def test_golden(name: str) -> None:
    file, text = GOLDEN / name, shown(name)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert file.read_text() == text


@every
def test_no_sample_contradicts_itself(name: str) -> None:
    codes = {finding.code for each in imported(name) for finding in each.run.findings}
    assert "import-inconsistent" not in codes


def test_every_golden_file_has_its_sample() -> None:
    assert sorted(file.name for file in GOLDEN.iterdir()) == samples.READ


@pytest.mark.parametrize(
    ("name", "row"),
    [
        # op, bytes, placement, iterations, time in us, busbw in GB/s, wrong: from the samples by eye
        ("all_reduce-2.19.6.txt", ("all_reduce", 2**34, "in-place", 20, 64662.9, 464.95, 0)),
        ("alltoall-timestamps.txt", ("all_to_all", 2**28, "in-place", 20, 1121.19, 209.49, None)),
        ("all_gather-2.10.txt", ("all_gather", 2**30, "in-place", 20, 26755.7, 30.10, 0)),
        ("all_reduce-2.0-error.txt", ("all_reduce", 2**30, "in-place", 20, 95742.6, 11.21, 0)),
        ("rccl-2.17.9-algorithm-timestamps.txt", ("all_reduce", 2**30, "in-place", 20, 6111.84, 307.44, 0)),
        ("broadcast-cputime-unchecked.txt", ("broadcast", 2**30, "in-place", 20, 4340.5, 247.38, None)),
    ],
)
def test_the_last_row(name: str, row: tuple[object, ...]) -> None:
    last = imported(name)[-1].run.measurements[-1]
    assert (last.op, last.bytes, last.placement, last.iterations, last.wrong) == (*row[:4], row[6])
    assert (last.time_s.mean * 1e6, last.busbw_bytes_per_s / 1e9) == pytest.approx(row[4:6], rel=1e-3)


def test_both_halves_become_measurements() -> None:
    (each,) = imported("all_reduce-2.19.6.txt")
    assert [row.placement for row in each.run.measurements] == ["out-of-place", "in-place"] * 6


def test_what_single_iterations_say() -> None:
    screen = imported("all_reduce-per-iteration-timestamps.txt")[0].run.measurements[0]
    assert screen.cadence == "isolated"
    assert screen.time_s.mean == pytest.approx(34.78e-6)
    assert (screen.time_s.min, screen.time_s.max, screen.time_s.p99) == pytest.approx(
        (32.35e-6, 45.56e-6, 45.56e-6)
    )
    assert (screen.time_s.median, screen.time_s.p90, screen.time_s.ci95) == (None, None, None)
    file = imported("all_gather-v3-per-iteration.json")[0].run.measurements[0]
    times = file.time_s
    assert times.median and times.p99 and times.ci95 and times.min and times.max
    assert times.min < times.ci95[0] <= times.median <= times.ci95[1] < times.p99 <= times.max
    assert times.max < 2 * times.mean, "the first iterations were to be skipped"


def test_labelled_lines_are_read_process_by_process() -> None:
    one, two = imported("one-rank-jobs.txt")
    assert [each.run.info.hosts for each in (one, two)] == [("node-a",), ("node-b",)]
    assert [finding.code for finding in one.run.findings] == ["world-of-one", "imported"]
    assert {row.busbw_bytes_per_s for row in one.run.measurements} == {0.0}


@pytest.mark.parametrize(
    ("statuses", "wanted"),
    [
        (("pass", "unknown"), "unknown"),
        (("warn", "incomplete", "unknown"), "incomplete"),
        (("pass", "fail", "incomplete", "unknown"), "fail"),
        (("pass", "warn"), "warn"),
        (("pass", "pass"), "pass"),
    ],
)
def test_the_verdict_is_that_of_the_worst(statuses: tuple[Status, ...], wanted: str) -> None:
    name = str(samples.FOLDER / "all_reduce-2.19.6.txt")
    (each,) = import_results.read([name], Told(), ())
    verdicts = [replace(each.run.verdict, status=status) for status in statuses]
    found = [replace(each, run=replace(each.run, verdict=verdict)) for verdict in verdicts]
    assert import_results.worst(found).status == wanted
