"""A run of a probe: its circumstances, what it leaves out, and where it is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding, Subject
from nccltool.launch import runner
from nccltool.launch.finding_kinds import COMMAND_STOPPED, RANK_ERROR
from nccltool.triage import failed_run
from tests.cli.commands.test_probe import COMMAND, GOOD, HELLO, WORLD, measured, the_run
from tests.cli.conftest import Act, acting
from tests.conftest import Nccltool


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Act:
    return acting(monkeypatch)


def test_the_circumstances_of_a_run(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    nccltool(*COMMAND)
    folder, run = the_run(tmp_path)
    info = run.info
    assert (info.id, info.command) == (folder.name, ("nccltool", *COMMAND))
    assert (info.torch, info.backend, info.backend_reason) == ("2.13.0", "gloo", "no GPU")
    assert (info.nodes, info.world_size, info.emulated, info.hosts) == (2, 2, True, ("alpha",))


def test_what_was_left_out_is_said(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act([*HELLO, WORLD, *measured(0)])
    nccltool("probe", "--nodes", "2", "--op", "all_reduce,all_gather", "--sizes", "4,1K")
    _, run = the_run(tmp_path)
    assert [(one.code, one.severity, one.subject.name, one.message) for one in run.findings] == [
        (
            "left-out",
            "info",
            "all_gather",
            "all_gather at 4 B was left out: 4 B is less than 16 B for each of 2 ranks",
        ),
    ]


def test_logs_of_a_run_whose_command_was_stopped_blame_nobody(
    act: Act, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def in_logs(info: RunInfo, *words: object) -> tuple[Finding, ...]:
        asked.append(info.id)
        return ()

    monkeypatch.setattr(failed_run, "findings", in_logs)
    subject = Subject(kind="run", name="this command")
    for kind in (COMMAND_STOPPED, RANK_ERROR):
        act(GOOD, [kind.finding(subject=subject, message="as it was")])
        assert nccltool(*COMMAND).code == 3
        assert len(asked) == (kind is RANK_ERROR)


def test_a_result_that_cannot_be_saved_is_shown_all_the_same(
    tmp_path: Path, act: Act, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch
) -> None:
    act(GOOD)
    runs = tmp_path / "state/nccltool/runs"
    played = runner.run

    def and_take_the_folder_away(*words: Any) -> runner.LaunchOutcome:
        outcome = played(*words)
        (folder,) = runs.iterdir()
        folder.rename(tmp_path / "gone")
        return outcome

    monkeypatch.setattr(runner, "run", and_take_the_folder_away)
    said = nccltool(*COMMAND, "--format", "json")
    shown = json.loads(said.out)
    assert (said.code, shown["status"], len(shown["measurements"])) == (3, "incomplete", 2)
    assert [one["code"] for one in shown["findings"]] == ["run-dir-full"]
