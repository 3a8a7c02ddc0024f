"""nccltool import."""

import csv
import io
import json
import tarfile
import xml.etree.ElementTree as ET
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
    assert [f"PASS {file}: all_reduce, " in table for file in files] == [True, True]
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


def test_every_format_of_every_run_at_once(tmp_path: Path, nccltool: Nccltool) -> None:
    names = ("all_reduce-2.19.6.txt", "reduce_scatter-wrong.txt", "all_reduce-v3-no-results.json")
    forms = ("csv", "junit", "ctrf", "nagios", "sarif", "json", "table")
    pairs = [word for form in forms for word in ("--format", form, "--output", str(tmp_path / form))]
    said = nccltool("import", *map(path, names), *pairs)
    assert (said.code, said.out, said.err) == (1, "", "")
    text = {form: (tmp_path / form).read_text() for form in forms}
    assert {row["source"] for row in csv.DictReader(io.StringIO(text["csv"]))} == {path(names[0]), path(names[1])}
    assert len(ET.fromstring(text["junit"])) == len(json.loads(text["sarif"])["runs"]) == 3
    assert json.loads(text["ctrf"])["results"]["summary"]["failed"] > 0
    assert [line.partition(":")[0] for line in text["nagios"].splitlines()] == [
        f"NCCLTOOL CRITICAL - {path(names[1])}",
        f"NCCLTOOL UNKNOWN - {path(names[2])}",
        f"NCCLTOOL OK - {path(names[0])}",
    ]
    assert text["json"].count('"kind": "probe"') == text["table"].count(" of nccl-tests ") == 3


def test_a_run_of_an_archive_says_which_file_it_is_from(tmp_path: Path, nccltool: Nccltool) -> None:
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for name in ("all_reduce-2.19.6.txt", "two-operations.txt"):
            archive.add(path(name), f"logs/{name}")
    rows = nccltool("import", str(tmp_path / "all.tar.gz"), "--format", "csv").out
    assert list(dict.fromkeys(row["source"] for row in csv.DictReader(io.StringIO(rows)))) == [
        f"{tmp_path}/all.tar.gz, logs/all_reduce-2.19.6.txt",
        f"{tmp_path}/all.tar.gz, logs/two-operations.txt",
    ]


def test_a_dash_is_standard_output(tmp_path: Path, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = nccltool("import", path("all_reduce-v1.json"), "--format", "json", "--output", "-")
    assert (json.loads(said.out)["kind"], list(tmp_path.iterdir())) == ("probe", [])
    assert json.loads(nccltool("version", "--format", "json", "--output", "-").out)["kind"] == "version"


def test_without_its_footer(nccltool: Nccltool, tmp_path: Path) -> None:
    text = samples.data("all_reduce-2.19.6.txt").decode()
    (tmp_path / "out.txt").write_text(text.partition("# Out of bounds")[0])
    said = nccltool("import", str(tmp_path / "out.txt"))
    assert said.code == 4
    assert said.out.startswith(
        f"UNKNOWN {tmp_path}/out.txt: all_reduce, 8 B to 16 GiB; import-rows-missing: missing from the output: "
        "the line '# Out of bounds values', the line '# Avg bus bandwidth'; peak busbw "
    )


def test_into_a_file(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool(
        "import", path("all_reduce-2.19.6.txt"), "--format", "csv", "--output", str(tmp_path / "o.csv")
    )
    assert (said.code, said.out, said.err) == (0, "", "")
    assert (tmp_path / "o.csv").read_text().count("\n") == 13
