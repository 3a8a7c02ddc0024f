"""Traces of steps: what is in the folder when one is not written to its end."""

import errno
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from nccltool.core.findings import Finding
from nccltool.train.job import TrainSpec, trace_file
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies, timed_steps
from nccltool.worker.train.strategies.base import Setup

pytestmark = pytest.mark.torch

SPEC = TrainSpec(strategies=("ddp",), layers=1, width=16, context=8, vocabulary=32)


class _Findings:
    """What the rank reports."""

    def __init__(self) -> None:
        self.reported: list[Finding] = []

    def report(self, finding: Finding) -> None:
        self.reported.append(finding)


class _FullDisk:
    """A profiler whose trace does not fit."""

    def __init__(self, **_settings: Any) -> None:
        pass

    def __enter__(self) -> "_FullDisk":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def export_chrome_trace(self, file: str) -> None:
        Path(file).write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_steps_are_taken_where_no_trace_can_be_written(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other ranks wait for this one in their collectives."""
    steps: list[Tensor] = []
    said = _Findings()
    (tmp_path / trace_file("ddp", 0)).touch()

    def refused(_file: Path, **_how: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    monkeypatch.setattr(timed_steps, "profile", _FullDisk)
    monkeypatch.setattr(timed_steps, "stepper", lambda _strategy: steps.append)
    tools: Any = RankTools(setup.device, setup.slot, said, setup.tools.injector)  # type: ignore[arg-type]
    timed_steps.write_trace(strategies.build(Setup("ddp", SPEC, tools)), tmp_path)
    assert (len(steps), [one.code for one in said.reported]) == (8, ["profile-not-written"])


def test_a_full_disk_leaves_neither_half_a_trace_nor_that_of_an_earlier_run(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, said = tmp_path / trace_file("ddp", 0), _Findings()
    file.write_text("earlier")
    monkeypatch.setattr(timed_steps, "profile", _FullDisk)
    tools: Any = RankTools(setup.device, setup.slot, said, setup.tools.injector)  # type: ignore[arg-type]
    timed_steps.write_trace(strategies.build(Setup("ddp", SPEC, tools)), tmp_path)
    (finding,) = said.reported
    assert finding.message == f"rank 0 could not write its profiler trace {file}: No space left on device"
    assert "free space" in finding.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_never_answers_is_given_up_and_the_rank_is_named(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, said = tmp_path / trace_file("ddp", 0), _Findings()
    monkeypatch.setattr(shutil, "copyfile", lambda *_files: time.sleep(60))
    monkeypatch.setattr(timed_steps, "_WRITTEN_S", 0.2)
    tools: Any = RankTools(setup.device, setup.slot, said, setup.tools.injector)  # type: ignore[arg-type]
    timed_steps.write_trace(strategies.build(Setup("ddp", SPEC, tools)), tmp_path)
    (finding,) = said.reported
    assert finding.message == (
        f"rank 0 could not write its profiler trace {file}: its file system did not accept it within 0.2 s"
    )
