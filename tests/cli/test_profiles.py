"""What is said of the traces of `nccltool train --profile`."""

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nccltool.cli import profiles
from nccltool.train.job import trace_file
from nccltool.train.result import TrainRun
from tests.trace.samples import SHIPPED
from tests.train.test_judge import RIGHT, judged


def _run(**info: Any) -> TrainRun:
    run = judged(*RIGHT)
    return replace(run, info=replace(run.info, world_size=4, **info))


def _copied(folder: Path) -> None:
    for rank in range(4):
        packed = folder / trace_file("ddp", rank)
        packed.write_bytes(gzip.compress((SHIPPED / f"ddp-rank{rank}.pt.trace.json").read_bytes()))


def _said(run: TrainRun, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    profiles.tell(run, str(folder))
    return capsys.readouterr().err.replace(str(folder), "DIR").splitlines()


def test_the_late_rank_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _copied(tmp_path)
    assert _said(_run(), tmp_path, capsys) == [
        "profile of ddp: suspect: rank 2; waiting for the late rank takes 57 % of a step; 45.4 ms per step;"
        " nccltool trace DIR/ddp-rank*"
    ]


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(_run(), tmp_path, capsys) == ["profile of ddp: not analyzed: DIR on this host has no traces"]
    (tmp_path / trace_file("ddp", 1)).write_text("\x1b[2Jno trace")
    (line,) = _said(_run(), tmp_path, capsys)
    assert line.startswith(
        "profile of ddp: not analyzed: DIR/ddp-rank1.pt.trace.json.gz is not a trace: it is not"
    )


def test_traces_of_an_earlier_run_are_not_those_of_one_that_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _copied(tmp_path)
    run = _run()
    assert _said(replace(run, verdict=replace(run.verdict, exit_code=3)), tmp_path, capsys) == []


def test_gpus_have_a_command_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(tmp_path)
    _, line = _said(
        _run(backend="nccl", command=("nccltool", "train", "ddp", "--profile", "a b")), tmp_path, capsys
    )
    assert line == (
        "for more about the GPUs of this host: nsys profile --trace=cuda,nvtx --trace-fork-before-exec=true"
        " --output=DIR/nsys nccltool train ddp --profile 'a b'"
    )
