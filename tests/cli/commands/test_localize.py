"""nccltool localize: from files to suspects, exit codes, and the list of nodes to avoid."""

import json
from pathlib import Path

import pytest

from nccltool import api
from nccltool.localize import document, views
from nccltool.localize.accusations import localized
from tests.conftest import Nccltool
from tests.support import documents
from tests.support.pairs import FOUND_106, ISSUE_106, OF_106, info


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    file = tmp_path / "pairs.csv"
    file.write_text(ISSUE_106)
    return str(file)


def _healthy(nodes: int = 8) -> str:
    names = [f"n{number}" for number in range(nodes)]
    rows = [
        f"{names[a]},{names[b]},{370 + (7 * a + 3 * b) % 5 - 2}" for a in range(nodes) for b in range(a + 1, nodes)
    ]
    return "\n".join(rows) + "\n"


def test_issue_106(nccltool: Nccltool, pairs: str, tmp_path: Path) -> None:
    """644 is named, (284, 678) is not explained, the next tests are proposed, nobody else is accused."""
    exclude = tmp_path / "exclude"
    done = nccltool("localize", pairs, "--format", "json", "--write-exclude", str(exclude))
    assert done.code == 1, done.err
    documents.hold(done.out)
    said = json.loads(done.out)
    assert [(one["kind"], one["subject"]) for one in said["suspects"]] == [("node", ["644"])]
    assert said["undetermined"] == [["284", "678"]]
    proposed = [frozenset(one["members"]) for one in said["next_tests"]]
    cleared = {"404", "632", "641", "699"}
    for doubtful in ("284", "678"):
        assert any(doubtful in members and members & cleared for members in proposed)
    assert (said["links_measured"], said["links"]) == (5, 21)
    assert exclude.read_text() == "644\n"


def test_the_table(nccltool: Nccltool, pairs: str) -> None:
    done = nccltool("localize", pairs)
    assert done.code == 1
    assert done.out.startswith(
        "FAIL localize: suspect node 644; 1 slow pair unexplained; 5 measurements of 7 nodes\n"
    )
    for text in (
        "node-slow: node 644",
        "284 - 678",
        "measure next",
        "smallest fault that these measurements could",
    ):
        assert text in done.out


def test_the_healthy_ones(nccltool: Nccltool, tmp_path: Path) -> None:
    file, exclude = tmp_path / "p.csv", tmp_path / "exclude"
    file.write_text(_healthy())
    exclude.write_text("n1\n")
    done = nccltool("localize", str(file), "--write-exclude", str(exclude))
    assert (done.code, exclude.read_text()) == (0, "")
    assert done.out.startswith("PASS localize: nothing slow found on all 28 links; 28 measurements of 8 nodes\n")


def test_a_fabric_below_what_is_expected(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text(_healthy())
    assert nccltool("localize", str(file), "--expect", "365GB/s").code == 0
    done = nccltool("localize", str(file), "--expect", "740GB/s", "--format", "json")
    assert done.code == 1
    said = json.loads(done.out)
    assert said["scope"] in ("fabric-wide", "undetermined")
    assert said["suspects"] == []
    assert said["expected_busbw_bytes_per_s"] == 740e9


def test_a_run_says_what_is_expected(nccltool: Nccltool, tmp_path: Path, pairs: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text(document.to_json(localized(info(), OF_106, FOUND_106, kind="pairs")))
    said = json.loads(nccltool("localize", pairs, "--expect", str(run), "--format", "json").out)
    assert said["expected_busbw_bytes_per_s"] == 87.6e9
    again = json.loads(nccltool("localize", str(run), "--format", "json").out)
    assert again["suspects"] == json.loads(nccltool("localize", pairs, "--format", "json").out)["suspects"]


@pytest.mark.parametrize("form", views.FORMATS)
def test_every_format(form: str, nccltool: Nccltool, pairs: str) -> None:
    done = nccltool("localize", pairs, "--format", form)
    assert done.code == (2 if form == "nagios" else 1)
    assert "644" in done.out


def test_its_csv_is_an_input(nccltool: Nccltool, pairs: str, tmp_path: Path) -> None:
    file = tmp_path / "again.csv"
    nccltool("localize", pairs, "--format", "csv", "--output", str(file))
    assert nccltool("localize", str(file)).out == nccltool("localize", pairs).out


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture(suffix: str, nccltool: Nccltool, pairs: str, tmp_path: Path) -> None:
    picture = tmp_path / f"p.{suffix}"
    assert nccltool("localize", pairs, "--plot", str(picture)).code == 1
    assert picture.read_bytes().startswith(b"<svg" if suffix == "svg" else b"\x89PNG")


def test_a_topology_is_read(nccltool: Nccltool, pairs: str, tmp_path: Path) -> None:
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=s1 Nodes=[284,404]\nSwitchName=s2 Nodes=[632,641,644,678,699]\n")
    assert nccltool("localize", pairs, "--topology", str(conf)).code in (1, 2)
    done = nccltool("localize", pairs, "--topology", pairs)
    assert done.code == 2
    assert "--topology" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.csv",), "nothing.csv: no such file or run"),
        (("PAIRS", "--expect", ""), "--expect is empty"),
        (("",), "a FILE is empty"),
        (("PAIRS", "--expect", "fast"), "fast"),
        (("PAIRS", "--expect", "370"), "--expect '370' is not a bandwidth with its unit"),
        (("PAIRS", "--expect", "0GB/s"), "--expect 0GB/s is no speed"),
        (("PAIRS", "--plot", "p.gif"), "--plot p.gif: unknown suffix"),
        (("PAIRS", "--write-exclude", "/nowhere/x"), "--write-exclude /nowhere/x cannot be written"),
        (("PAIRS", "--topology", "/nowhere/x"), "--topology /nowhere/x cannot be read"),
    ],
)
def test_bad_words(words: tuple[str, ...], said: str, nccltool: Nccltool, pairs: str) -> None:
    done = nccltool("localize", *(pairs if word == "PAIRS" else word for word in words))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    "words", [("--write-exclude", "PAIRS"), ("--format", "csv", "--output", "PAIRS"), ("--plot", "PAIRS")]
)
def test_an_input_is_not_overwritten(words: tuple[str, ...], nccltool: Nccltool, pairs: str) -> None:
    done = nccltool("localize", pairs, *(pairs if word == "PAIRS" else word for word in words))
    assert (done.code, done.out) == (2, "")
    assert f"{words[-2]} {pairs}: this is the input" in done.err
    assert Path(pairs).read_text() == ISSUE_106


def test_a_matrix_without_one_of_its_rows_warns(nccltool: Nccltool, tmp_path: Path) -> None:
    rows = [
        f"n{a}:{a} to " + " ".join("0.0" if a == b else f"{1000 + a + b}.0" for b in range(6)) for a in range(5)
    ]
    head = ["START mpiGraph v1.5", "MsgSize 1048576", "Times 10", "Window 2", "Procs 6"]
    file = tmp_path / "m.txt"
    file.write_text("\n".join([*head, *rows, "END mpiGraph", ""]))
    done = nccltool("localize", str(file))
    assert f"pairs-not-measured: {file}: 5 of 30 pairs missing" in done.out
    assert not done.out.startswith("PASS")


def test_a_file_that_is_named_twice_counts_once(nccltool: Nccltool, pairs: str) -> None:
    done = nccltool("localize", pairs, f"{Path(pairs).parent}/./{Path(pairs).name}")
    assert "5 measurements of 7 nodes" in done.out
    assert "is named twice, and counted once" in done.out


def test_names_do_not_act_on_the_terminal(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text(_healthy().replace("n3,", "n\x1b[31m3,") + "n1,n\x1b[31m3,20\n")
    for form in views.FORMATS:
        assert "\x1b" not in nccltool("localize", str(file), "--format", form).out


def test_other_programs_call_it(pairs: str) -> None:
    run = api.localize(pairs, expect="88GB/s")
    assert [one.subject for one in run.localization.suspects] == [("644",)]
    assert run.info.command == ("nccltool.api.localize",)


def test_a_picture_that_cannot_be_drawn_costs_no_result(nccltool: Nccltool, tmp_path: Path) -> None:
    file, exclude = tmp_path / "p.csv", tmp_path / "exclude"
    file.write_text("a,b,370\n")
    words = ("localize", str(file), "--plot", str(tmp_path / "p.svg"), "--write-exclude", str(exclude))
    done = nccltool(*words)
    assert (done.code, exclude.read_text()) == (5, "")
    assert done.out.startswith("UNKNOWN localize: ")
    assert "p.svg was not drawn: no measured pair, or no healthy speed" in done.err
    assert nccltool(*words, "--expect", "370GB/s").code != 5
