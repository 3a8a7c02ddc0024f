"""Runs inside reports: the same runs as before, saved once; another page is refused."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.monitor import run_list
from nccltool.report import html_data, inside, page
from tests.report import materials


def _report(tmp_path: Path, name: str) -> Path:
    documents = page.of(materials.ALL[name]()).documents
    file = tmp_path / f"{name}.html"
    file.write_text(f"<!doctype html>\n{html_data.block(documents)}")
    return file


@pytest.mark.parametrize("name", materials.ALL)
def test_the_runs_are_those_that_went_in(tmp_path: Path, name: str) -> None:
    made = inside.runs(str(_report(tmp_path, name)))
    assert [one.run for one in made] == [one.run for one in materials.ALL[name]().runs]


def test_a_kept_run_is_read_like_any_other_and_kept_once(tmp_path: Path) -> None:
    (one,) = inside.runs(str(_report(tmp_path, "pairs")))
    folder = inside.keep(one, tmp_path / "runs")
    assert run_list.load(folder) == one.run
    before = (folder / "run.json").stat().st_mtime_ns
    assert inside.keep(one, tmp_path / "runs") == folder
    assert (folder / "run.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["../escape", "/etc/x", ".hidden", "a/b", ""])
def test_an_id_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    one = inside.RunInside(run=materials.swept(name), document=b"{}")
    with pytest.raises(BadInput, match="no id that can be a folder"):
        inside.keep(one, tmp_path / "runs")
    assert not list(tmp_path.iterdir())


def test_what_is_a_page(tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<!DOCTYPE html><p>hello")
    text = tmp_path / "nccl.txt"
    text.write_text("# nThread 1")
    names = [str(_report(tmp_path, "probe")), str(other), str(text), "-", str(tmp_path), "no\0file"]
    assert inside.are_reports(names) == (True, True, False, False, False, False)
    with pytest.raises(BadInput, match="is an HTML page, but no report"):
        inside.runs(str(other))
