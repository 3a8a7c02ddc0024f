"""nccltool report, and nccltool import of what it wrote."""

import errno
import os
from pathlib import Path

import pytest

from nccltool.core import run_directory, written_files
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.report.inside import RunInside, keep
from tests.conftest import Nccltool
from tests.report import materials
from tests.samples import job


def _kept(name: str = "20250102T030405Z-beef", slow: float = 1.0) -> str:
    folder = run_dir_of(run_directory.base_folder(), job(run_id=name))
    folder.finish(to_json(materials.swept(name, slow)))
    folder.close()
    return name


def _needs_html() -> None:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    pytest.importorskip("jinja2", reason="the extra report is not installed")


def test_the_summary_on_a_screen(nccltool: Nccltool) -> None:
    _kept()
    said = nccltool("report", "latest")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("PASS all_reduce, all_gather, send_recv, 1 KiB to 4 MiB; peak busbw")
    assert "Late ranks: The others waited for rank 3 by 4.2 ms." in said.out


def test_the_ending_of_the_file_tells_the_format(nccltool: Nccltool, tmp_path: Path) -> None:
    name = _kept()
    file = tmp_path / "ticket.md"
    assert nccltool("report", name, "--output", str(file)).code == 0
    assert file.read_text().startswith("# PASS: ")
    _needs_html()
    page = tmp_path / "report.HTML"
    assert nccltool("report", name, "--output", str(page)).code == 0
    assert page.read_text().startswith("<!doctype html>")
    assert page.stat().st_size < 300_000


def test_what_is_given_counts_more_than_the_ending(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert nccltool("report", _kept(), "--format", "markdown", "--output", str(file)).code == 0
    assert file.read_text().startswith("# PASS: ")


def test_charts_are_files_of_their_own(nccltool: Nccltool, tmp_path: Path) -> None:
    _needs_html()
    said = nccltool("report", _kept(), "--charts", str(tmp_path / "new/charts"))
    assert (said.code, said.err) == (0, f"10 charts in {tmp_path}/new/charts\n")
    made = {file.name for file in (tmp_path / "new/charts").iterdir()}
    assert len(made) == 20
    assert {"01-bandwidth-all_reduce-busbw.svg", "01-bandwidth-all_reduce-busbw.png"} < made


def test_a_folder_that_cannot_be_is_named_before_the_work(nccltool: Nccltool, tmp_path: Path) -> None:
    _needs_html()
    (tmp_path / "file").write_text("")
    said = nccltool("report", _kept(), "--charts", str(tmp_path / "file/charts"))
    assert (said.code, said.out) == (2, "")
    assert "--charts" in said.err
    assert "Not a directory" in said.err


def test_a_full_disk_is_another_exit_code(
    nccltool: Nccltool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _needs_html()

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(written_files, "put", full)
    said = nccltool("report", _kept(), "--charts", str(tmp_path))
    assert said.code == 5
    assert "No space left on device" in said.err


def test_two_runs_are_compared(nccltool: Nccltool) -> None:
    a, b = _kept(), _kept("20250103T030405Z-beef", 20.0)
    said = nccltool("report", b, a, "--format", "markdown")
    assert said.code == 0
    assert "B is slower than A: the typical row is 20x slower" in said.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report",), "missing"),
        (("report", "nothing"), "unknown run 'nothing'"),
        (("report", "latest"), "no runs under"),
        (("report", "latest", "--format", "pdf"), "pdf"),
        (("report", "latest", "--baseline", "godo"), "no baselines"),
        (("report", "latest", "--output", "/nowhere/report.html"), "/nowhere/report.html cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(nccltool: Nccltool, words: tuple[str, ...], said: str) -> None:
    found = nccltool(*words)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


def test_import_reads_a_report_back(nccltool: Nccltool, tmp_path: Path) -> None:
    _needs_html()
    a, b = _kept(), _kept("20250103T030405Z-beef", 2.0)
    page, other = tmp_path / "report.html", str(tmp_path / "other")
    assert nccltool("report", a, b, "--output", str(page)).code == 0
    said = nccltool("import", str(page), "--keep", "--run-dir", other)
    assert said.code == 0
    assert said.out.count("all_reduce") >= 8
    for name in (a, b):
        kept = nccltool("runs", name, "--run-dir", other, "--format", "json")
        assert kept.out == nccltool("runs", name, "--format", "json").out


def test_import_shows_a_report_of_another_kind(nccltool: Nccltool, tmp_path: Path) -> None:
    _needs_html()
    run = materials.pairs()
    keep(RunInside(run=run, document=materials.reported(run).document), run_directory.base_folder())
    page = tmp_path / "report.html"
    assert nccltool("report", "latest", "--output", str(page)).code == 0
    said = nccltool("import", str(page))
    assert said.code == 1
    assert said.out.startswith("FAIL localize: suspect node 644")
    assert nccltool("import", str(page), "--format", "nccl-tests").code == 2
    assert nccltool("import", str(page), str(page), "--format", "junit").code == 2
