"""nccltool compare and nccltool baseline."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core import run_directory
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from tests.conftest import Nccltool
from tests.interop.importers.samples import FOLDER
from tests.samples import info, job, measurement, stats


def kept(number: int, factor: float = 1.0, **changes: object) -> str:
    """A run with two rows in the folder of runs; its id."""
    name = f"2025010{number}T000000Z-000{number}"
    times = [replace(stats(0.002 * factor), p90=0.00201 * factor) for _ in range(2)]
    rows = [measurement(time_s=times[0]), measurement(time_s=times[1], bytes=2**24)]
    run = Run(
        info=info(id=name, **changes),
        verdict=Verdict(status="pass", exit_code=0),
        measurements=tuple(rows),
        findings=(),
    )
    folder = run_dir_of(run_directory.base_folder(), job(run_id=name))
    folder.finish(to_json(run))
    folder.close()
    return name


@pytest.mark.parametrize(("factor", "code", "word"), [(1.0, 0, "same"), (1.2, 1, "worse"), (0.8, 0, "better")])
def test_exit_codes(nccltool: Nccltool, factor: float, code: int, word: str) -> None:
    a, b = kept(1), kept(2, factor)
    said = nccltool("compare", a, b)
    assert (said.code, said.err) == (code, "")
    assert said.out.splitlines()[-1].startswith(word)
    document = json.loads(nccltool("compare", a, b, "--format", "json").out)
    assert (document["kind"], document["exit_code"], document["outcome"]) == ("compare", code, word)
    assert [row["effect"]["outcome"] for row in document["rows"]] == [word] * 2


def test_lists_of_runs_the_latest_and_a_baseline(nccltool: Nccltool, tmp_path: Path) -> None:
    names = [kept(number, 1 + number / 1000) for number in range(1, 6)]
    kept(6, 1.2)
    assert nccltool("compare", ",".join(names), "latest").code == 1
    saved = nccltool("baseline", "save", "night", *names, "--note", "quiet")
    assert (saved.code, saved.out) == (0, "baseline night: 5 runs\n")
    assert nccltool("compare", "baseline:night", "latest").code == 1
    assert "quiet" in nccltool("baseline", "list").out
    assert " 5       " in nccltool("baseline", "show", "night").out
    file = tmp_path / "night.json"
    assert nccltool("baseline", "export", "night", "--output", str(file)).code == 0
    assert nccltool("baseline", "import", str(file), "--as", "day").out == "baseline day: 5 runs\n"
    assert nccltool("baseline", "remove", "night").code == 0
    listed = json.loads(nccltool("baseline", "list", "--format", "json").out)
    assert [baseline["name"] for baseline in listed["baselines"]] == ["day"]


@pytest.mark.parametrize("form", ["csv", "markdown", "table"])
def test_formats(nccltool: Nccltool, form: str, tmp_path: Path) -> None:
    a, b = kept(1), kept(2, 1.2)
    said = nccltool("compare", a, b, "--format", form)
    assert said.code == 1
    assert said.out.count("all_reduce") >= 2
    assert nccltool("compare", a, b, "--format", form, "--output", str(tmp_path / "x")).out == ""
    assert (tmp_path / "x").read_text() == said.out


def test_what_is_not_comparable(nccltool: Nccltool) -> None:
    a, b = kept(1), kept(2, torch="2.14.0", transport="ib")
    said = nccltool("compare", a, b)
    assert said.code == 2
    assert "transport (not known; ib), torch (2.13.0+cpu; 2.14.0)" in said.err
    assert "--ignore torch --ignore unknown" in said.err
    assert nccltool("compare", a, b, "--ignore", "torch", "--ignore", "unknown").code == 0


def test_output_of_nccl_tests(nccltool: Nccltool) -> None:
    file = str(FOLDER / "all_reduce-2.19.6.txt")
    said = nccltool("compare", file, file)
    assert said.code in (0, 4)
    assert "times are means over iterations" in said.out
    assert "A and B have runs in common" in said.out
    assert nccltool("compare", file, kept(1)).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "nosuch", "latest"), "'nosuch' is not a run"),
        (("compare", "latest", "latest"), "there is no run under"),
        (("compare", "a,,b", "latest"), "'a,,b' has an empty place"),
        (("compare", "baseline:x", "latest"), "there are no baselines"),
        (("compare", "a", "b", "--ignore", "colour"), "'colour' is not a key"),
        (("baseline", "save", "n", "r", "--add", "--replace"), "exclude each other"),
        (("baseline", "import", "/nosuch"), "/nosuch cannot be read"),
        (("baseline", "show", "x"), "there are no baselines"),
    ],
)
def test_bad_words(nccltool: Nccltool, words: tuple[str, ...], message: str) -> None:
    said = nccltool(*words)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


def test_no_baselines_yet(nccltool: Nccltool) -> None:
    assert nccltool("baseline", "list").out == "no baselines yet\n"
