"""nccltool runs."""

import json
import os
from pathlib import Path

import pytest

from nccltool.core import run_directory
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
        ("2024", "Error: unknown run '2024' under {base}\n  -> see nccltool runs\n"),
        ("2025", "Error: '2025' matches 2 runs under {base}\n  -> see nccltool runs\n"),
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
        [FIRST, "2025-01-01T00:00:00Z", "incomplete"],
        [SECOND, "2025-01-02T00:00:00Z", "unknown"],
    ]


def test_a_run_in_progress_is_listed_as_that(base: Path, nccltool: Nccltool) -> None:
    (base / SECOND / "run.json").unlink()
    held = run_directory.hold(base / SECOND)
    said = nccltool("runs")
    os.close(held)
    assert " in progress " in said.out
    assert " in progress " not in nccltool("runs").out


def test_text_of_a_hostile_run_is_escaped_in_csv(base: Path, nccltool: Nccltool) -> None:
    file = base / FIRST / "run.json"
    document = json.loads(file.read_text())
    document["run"]["id"] = document["run"]["command"][0] = document["measurements"][0]["op"] = "x\x1b[2J\x9b"
    file.write_text(json.dumps(document))
    for words in ((), (FIRST,)):
        shown = nccltool("runs", *words, "--format", "csv").out
        assert "x\\x1b[2J\\x9b" in shown
        assert shown.replace("\n", "").isprintable()
    assert nccltool("runs", "--format", "json").out.replace("\n", "").isprintable()


def test_an_empty_name_of_a_file_is_refused(base: Path, nccltool: Nccltool) -> None:
    for option in ("--plot", "--output", "--run-dir"):
        said = nccltool("runs", FIRST, option, "")
        assert (said.code, said.err) == (2, f"Error: {option} '': expected a name\n  -> nccltool runs --help\n")


@pytest.mark.usefixtures("base")
def test_a_part_of_the_list(nccltool: Nccltool) -> None:
    def listed(*words: str) -> list[str]:
        return [
            Path(run["path"]).name for run in json.loads(nccltool("runs", "--format", "json", *words).out)["runs"]
        ]

    assert listed("--limit", "1") == [SECOND]
    assert listed("--status", "pass") == [FIRST]
    assert listed("--kind", "train") == []
    assert listed("--since", "2025-01-02") == [FIRST, SECOND]  # both documents say that day
    assert listed("--since", "2025-01-03") == []
    said = nccltool("runs", FIRST, "--limit", "1")
    assert (said.code, said.err) == (2, "Error: --limit filters the list of runs\n  -> leave out RUN\n")


def test_removing_runs(base: Path, nccltool: Nccltool) -> None:
    """Nothing goes before it is named; what is named goes, and is said."""
    said = nccltool("runs", "rm")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Error: name the runs to remove or use --older-than or --keep\n")
    assert nccltool("runs", "rm", FIRST, "--keep", "1").code == 2
    assert nccltool("runs", "rm", "--dry-run", "--keep", "1").out == f"{FIRST}\n"
    assert len(list(base.iterdir())) == 2
    said = nccltool("runs", "rm", FIRST[:8])
    assert (said.code, said.out, said.err) == (0, f"{FIRST}\n", "")
    assert [folder.name for folder in base.iterdir()] == [SECOND]
    assert nccltool("runs", "rm", "--older-than", "30d", "-q").out == ""
    assert list(base.iterdir()) == []


def test_no_variable_and_no_file_removes_a_run(base: Path, nccltool: Nccltool) -> None:
    assert nccltool("runs", "rm", NCCLTOOL_KEEP="0", NCCLTOOL_OLDER_THAN="1h").code == 2
    assert len(list(base.iterdir())) == 2


def test_a_run_in_progress_is_not_removed(base: Path, nccltool: Nccltool) -> None:
    running = run_dir_of(base, job(run_id="20250103T000000Z-0003"))
    said = nccltool("runs", "rm", "--keep", "0")
    assert (said.code, said.out) == (1, f"{FIRST}\n{SECOND}\n")
    assert said.err == "not removed: 20250103T000000Z-0003: in progress\n"
    running.close()


def test_a_silent_pipe_in_place_of_a_run_is_refused_at_once(nccltool: Nccltool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = nccltool("runs", str(tmp_path / "pipe"))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {tmp_path}/pipe: no data within 1 s\n")
