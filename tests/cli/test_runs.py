"""nccltool runs."""

import json
from pathlib import Path

import pytest

from nccltool.launch.job import run_dir as run_dir_of
from nccltool.monitor import run_list
from nccltool.probe import views
from nccltool.probe.document import to_json
from tests.conftest import Nccltool
from tests.samples import failing_run, good_run, job

FIRST, SECOND = "20250101T000000Z-0001", "20250102T000000Z-0002"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Two runs, where runs go when nothing is said."""
    base = tmp_path / "state/nccltool/runs"
    for run_id, run in ((FIRST, good_run()), (SECOND, failing_run())):
        folder = run_dir_of(base, job(run_id=run_id))
        folder.finish(to_json(run))
        folder.close()
    return base


def test_no_runs_yet(nccltool: Nccltool) -> None:
    said = nccltool("runs")
    assert (said.code, said.out, said.err) == (0, "no runs yet\n", "")


@pytest.mark.usefixtures("base")
def test_the_list(nccltool: Nccltool) -> None:
    said = nccltool("runs")
    assert (said.code, said.err) == (0, "")
    assert [line.split()[2] for line in said.out.splitlines()[2:]] == ["pass", "incomplete"]


def test_the_list_as_json(base: Path, nccltool: Nccltool) -> None:
    shown = json.loads(nccltool("runs", "--format", "json").out)
    assert [run["path"] for run in shown["runs"]] == [str(base / FIRST), str(base / SECOND)]
    assert nccltool("runs", NCCLTOOL_FORMAT="json").out == nccltool("runs", "--format", "json").out


def test_the_list_of_another_folder(tmp_path: Path, base: Path, nccltool: Nccltool) -> None:
    assert nccltool("runs", "--run-dir", str(tmp_path / "none")).out == "no runs yet\n"
    assert nccltool("runs", NCCLTOOL_RUN_DIR=str(tmp_path / "none")).out == "no runs yet\n"
    assert nccltool("runs", "--run-dir", str(base)).out.count("nccltool probe") == 2


@pytest.mark.parametrize("form", [form for form in views.FORMATS if form not in run_list.FORMATS])
def test_a_format_of_one_run_only(form: str, nccltool: Nccltool) -> None:
    said = nccltool("runs", "--format", form)
    sentence = f"Error: --format {form} shows one run, not a list of runs\n"
    assert (said.code, said.out, said.err) == (
        2,
        "",
        f"{sentence}  -> choose from {', '.join(run_list.FORMATS)}\n",
    )


@pytest.mark.parametrize("form", views.FORMATS)
def test_one_run_again(form: str, base: Path, nccltool: Nccltool) -> None:
    shown = views.renderer(form)(failing_run())
    for name in (SECOND, SECOND[:8], str(base / SECOND), str(base / SECOND / "run.json")):
        said = nccltool("runs", name, "--format", form)
        assert (said.code, said.out, said.err) == (0, shown, "")


@pytest.mark.usefixtures("base")
def test_into_a_file(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("runs", FIRST, "--format", "csv", "--output", str(tmp_path / "rows.csv"))
    assert (said.code, said.out) == (0, "")
    assert (tmp_path / "rows.csv").read_text() == views.renderer("csv")(good_run())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("2024", "Error: unknown run '2024' under {base}\n  -> nccltool runs lists them\n"),
        ("2025", "Error: '2025' is the start of 2 runs under {base}\n  -> nccltool runs lists them\n"),
    ],
)
def test_a_name_that_is_not_one_run(name: str, sentence: str, base: Path, nccltool: Nccltool) -> None:
    said = nccltool("runs", name)
    assert (said.code, said.out, said.err) == (2, "", sentence.format(base=base))


def test_a_file_that_is_not_a_run(tmp_path: Path, nccltool: Nccltool) -> None:
    (tmp_path / "run.json").write_text("{}")
    said = nccltool("runs", str(tmp_path))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {tmp_path / 'run.json'} is not a run of nccltool: ")


def test_a_damaged_run_is_listed(base: Path, nccltool: Nccltool) -> None:
    (base / SECOND / "run.json").write_text("{")
    (base / FIRST / "run.json").unlink()
    said = nccltool("runs")
    assert said.code == 0
    assert [line.split()[:3] for line in said.out.splitlines()[2:]] == [
        [FIRST, "?", "incomplete"],
        [SECOND, "?", "unknown"],
    ]
