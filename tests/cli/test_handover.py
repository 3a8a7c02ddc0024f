"""--metrics and --cluster of commands that measure: what a run was is handed over at its end."""

import json
from pathlib import Path

import pytest

from nccltool.launch.events import Event
from tests.cli.commands.test_probe import COMMAND, DIED, GOOD
from tests.cli.conftest import Act
from tests.conftest import Nccltool

TRAIN = ("train", "ddp", "--nodes", "2")
COMMANDS = pytest.mark.parametrize("command", [COMMAND, TRAIN], ids=lambda words: words[0])


@pytest.mark.parametrize(
    ("command", "stream", "success"),
    [(COMMAND, GOOD, 1.0), (COMMAND, GOOD[:7], 0.0), (TRAIN, [], 0.0)],
    ids=["good", "died", "train"],
)
def test_a_run_is_handed_over_whatever_came_of_it(
    command: tuple[str, ...], stream: list[Event], success: float, tmp_path: Path, act: Act, nccltool: Nccltool
) -> None:
    act(stream, () if success else (DIED,))
    file = tmp_path / "a.prom"
    said = nccltool(*command, "-q", "--metrics", f"textfile:{file}", "--cluster", "eu-1")
    assert said.code == (0 if success else 3)
    lines = file.read_text().splitlines()
    assert f'nccltool_last_run_success{{cluster="eu-1",command="{command[0]}"}} {success}' in lines
    assert all('cluster="eu-1"' in line for line in lines if not line.startswith("#"))
    assert file.stat().st_mode & 0o777 == 0o644


def test_without_a_cluster_there_is_no_label(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    file = tmp_path / "a.prom"
    assert nccltool(*COMMAND, "-q", "--metrics", f"textfile:{file}").code == 0
    assert "cluster" not in file.read_text()


def test_metrics_that_nobody_takes_do_not_hide_the_result(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    said = nccltool(*COMMAND, "--metrics", f"textfile:{tmp_path}/none/x.prom", "--format", "json", "-q")
    found = json.loads(said.out)
    assert (said.code, found["status"], len(found["measurements"])) == (0, "warn", 2)
    assert [one["code"] for one in found["findings"]] == ["metrics-not-handed-over"]
    assert said.err.startswith("WARNING metrics-not-handed-over: the metrics were not exported: ")
    (folder,) = (tmp_path / "state/nccltool/runs").iterdir()
    assert json.loads((folder / "run.json").read_text()) == found


@pytest.mark.parametrize(
    ("words", "in_result", "beside"),
    [((), 1, 0), (("--format", "csv"), 0, 1), (("--format", "json"), 1, 1), (("--output", "out"), 0, 1)],
    ids=["table", "csv", "json", "file"],
)
def test_metrics_that_nobody_takes_are_named_once(
    words: tuple[str, ...],
    in_result: int,
    beside: int,
    tmp_path: Path,
    act: Act,
    nccltool: Nccltool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    act(GOOD)
    monkeypatch.chdir(tmp_path)
    said = nccltool(*COMMAND, "--metrics", f"textfile:{tmp_path}/none/x.prom", *words)
    counts = [text.count("the metrics were not exported") for text in (said.out, said.err)]
    assert (said.code, counts) == (0, [in_result, beside])


@COMMANDS
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metrics", "file:/x"), "--metrics 'file:/x' is not valid"),
        (("--metrics", "textfile:/x.txt"), "node_exporter reads only .prom files"),
        (("--metrics", "textfile:/x.prom", "--cluster", 'a"b'), "--cluster 'a\"b' is not a cluster name"),
        (("--cluster", "eu-1"), "--cluster needs --metrics"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    command: tuple[str, ...], words: tuple[str, ...], message: str, tmp_path: Path, nccltool: Nccltool
) -> None:
    said = nccltool(*command, *words)
    assert (said.code, said.out, message in said.err) == (2, "", True)
    assert not (tmp_path / "state/nccltool/runs").exists()
