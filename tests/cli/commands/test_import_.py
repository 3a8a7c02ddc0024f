"""nccltool import."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.interop.importers import samples


def path(name: str) -> str:
    return str(samples.FOLDER / name)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("all_reduce-2.19.6.txt", 0),
        ("all_reduce-2.13.txt --op allreduce", 2),
        ("all_reduce-2.13.txt --op all_reduce", 0),
        ("all_reduce-2.13.txt --op all_reduce_perf", 0),
        ("all_reduce-2.13.txt --op alltoall", 0),
        ("all_reduce-2.13.txt", 0),
        ("ranks-cut.txt", 2),
        ("ranks-cut.txt --ranks 32", 0),
        ("reduce_scatter-wrong.txt", 1),
        ("one-rank-jobs.txt", 3),
        ("one-rank-jobs.txt --ranks 1", 0),
        ("all_reduce-v3-no-results.json", 4),
        ("all_reduce-v3-stopped.json", 2),
        ("one-rank-jobs-mixed.txt", 2),
        ("all_reduce-2.19.6.txt reduce_scatter-wrong.txt all_reduce-v3-no-results.json", 1),
        ("no-such-file.txt", 2),
        (".", 2),
    ],
)
def test_exit_codes(words: str, code: int, nccltool: Nccltool) -> None:
    said = nccltool("import", *(path(word) if "." in word else word for word in words.split()))
    assert said.code == code
    assert (said.out == "") == (code == 2)
    assert (said.err == "") == (code != 2)


def test_a_name_that_is_no_file(nccltool: Nccltool) -> None:
    said = nccltool("import", "none.txt")
    assert said.err == (
        "Error: none.txt cannot be read: No such file or directory\n  -> check the name; - is standard input\n"
    )


def test_without_a_file(nccltool: Nccltool) -> None:
    assert nccltool("import").code == 2


def test_standard_input(nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(samples.data("all_reduce-v1.json")))
    monkeypatch.setattr("sys.stdin", text)
    said = nccltool("import", "-", "--format", "json")
    document = json.loads(said.out)
    assert (said.code, document["kind"], document["run"]["world_size"]) == (0, "probe", 8)
    assert document["findings"][-1]["subject"] == {"kind": "file", "name": "standard input"}


def test_the_document(nccltool: Nccltool) -> None:
    document = json.loads(nccltool("import", path("all_reduce-2.19.6.txt"), "--format", "json").out)
    run, row = document["run"], document["measurements"][0]
    assert run["command"] == ["nccltool", "import", path("all_reduce-2.19.6.txt"), "--format", "json"]
    assert (run["backend"], run["backend_version"], run["torch"], run["emulated"]) == (
        "nccl",
        "2.29.7",
        None,
        False,
    )
    assert (run["nodes"], run["world_size"], run["hosts"]) == (2, 8, ["node-a", "node-b"])
    assert row["time_s"] == {
        "mean": pytest.approx(29.97e-6),
        **dict.fromkeys(["median", "p90", "p99", "min", "max", "ci95"]),
    }
    assert {(model["op"], model["placement"]) for model in document["models"]} == {
        ("all_reduce", "in-place"),
        ("all_reduce", "out-of-place"),
    }


def test_tests_on_the_same_ranks_are_one_run(nccltool: Nccltool) -> None:
    document = json.loads(nccltool("import", path("two-operations.txt"), "--format", "json").out)
    assert [row["op"] for row in document["measurements"]] == ["all_reduce"] * 4 + ["send_recv"] * 4


def test_several_files_are_several_runs(nccltool: Nccltool) -> None:
    files = (path("all_reduce-2.19.6.txt"), path("all_reduce-v1.json"))
    table = nccltool("import", *files).out
    assert table.count("\nPASS all_reduce, ") == 1
    rows = list(csv.DictReader(io.StringIO(nccltool("import", *files, "--format", "csv").out), strict=True))
    assert len(rows) == 12 + 6
    assert len({row["run"] for row in rows}) == 2


def test_runs_that_are_kept(tmp_path: Path, nccltool: Nccltool) -> None:
    base = tmp_path / "kept"
    said = nccltool("import", path("all_reduce-2.19.6.txt"), "--keep", "--run-dir", str(base), "--format", "json")
    (folder,) = base.iterdir()
    assert (said.code, said.err) == (0, f"saved to {folder}\n")
    listed = json.loads(nccltool("runs", "--run-dir", str(base), "--format", "json").out)
    assert [(run["id"], run["status"], run["measurements"]) for run in listed["runs"]] == [
        (folder.name, "pass", 12)
    ]
    assert nccltool("runs", folder.name, "--run-dir", str(base), "--format", "json").out == said.out
    assert (folder / "log.txt").read_bytes() == samples.data("all_reduce-2.19.6.txt")


def test_runs_are_not_kept_unless_asked(tmp_path: Path, nccltool: Nccltool) -> None:
    nccltool("import", path("all_reduce-2.19.6.txt"), "--run-dir", str(tmp_path / "kept"))
    assert not (tmp_path / "kept").exists()


def test_into_a_file(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool(
        "import", path("all_reduce-2.19.6.txt"), "--format", "csv", "--output", str(tmp_path / "o.csv")
    )
    assert (said.code, said.out, said.err) == (0, "", "")
    assert (tmp_path / "o.csv").read_text().count("\n") == 13
