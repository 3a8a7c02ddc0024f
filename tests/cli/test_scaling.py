"""--scaling: what is refused before anything runs, the batches of strong scaling, and a run that fails."""

import json
import shlex
from pathlib import Path

import msgspec
import pytest

from nccltool.cli import scaling
from nccltool.core.errors import BadInput
from nccltool.core.run_directory import RunDir
from nccltool.launch import runner
from nccltool.launch.job import Job
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome, Progress
from tests.cli.commands.test_probe import DIED, GOOD, WORLD
from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("sizes", "per_rank", "asked", "made"),
    [
        ((1, 2, 4, 8), 4, None, (8, 4, 2, 1)),
        ((2, 4), 4, None, (4, 2)),
        ((1, 3), 4, None, (6, 2)),
        ((1, 2), 4, "8", (8, 4)),
        ((1, 2), 4, "none", ()),
    ],
)
def test_the_batches_of_strong_scaling(
    sizes: tuple[int, ...], per_rank: int, asked: str | None, made: tuple[int, ...]
) -> None:
    assert scaling.batches(sizes, per_rank, asked) == made


@pytest.mark.parametrize("asked", ["0", "x", "3", "", "-2", "9" * 10])
def test_batches_that_cannot_be_divided(asked: str) -> None:
    with pytest.raises(BadInput, match="--global-batch"):
        scaling.batches((1, 2, 4), 4, asked)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train ddp --scaling 1,1", "--scaling names 1 twice"),
        ("train ddp --scaling 1,2 --format junit", "--format junit cannot show a series"),
        ("train ddp --scaling 1,2 --checkpoint somewhere", "--checkpoint cannot be combined"),
        ("train ddp --global-batch 4", "--global-batch needs --scaling"),
        ("probe --scaling 2,4 --loop 1h", "--loop cannot be combined with --scaling"),
        ("probe --scaling 1,2 --node-rank 0", "--node-rank cannot be combined with --scaling"),
    ],
)
def test_what_has_no_place_in_a_series(words: str, said: str, nccltool: Nccltool) -> None:
    done = nccltool(*words.split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def _play(monkeypatch: pytest.MonkeyPatch, interrupted_at: int = 0) -> None:
    """Runs of three ranks lose one; the first of so many is interrupted."""

    def played(order: LaunchOrder[Job], run_dir: RunDir, progress: Progress) -> LaunchOutcome:
        state = RunState(order.job, order.ranks_seen, now=0.0)
        ranks = order.job.nproc_per_node
        world = msgspec.structs.replace(WORLD, world_size=ranks)
        for number, event in enumerate([*GOOD[:2], world, *GOOD[3:]], start=1):
            state.apply(event, float(number))
        died = (DIED,) if ranks == 3 else ()
        return LaunchOutcome(state, (*state.findings, *died), ranks == interrupted_at)

    monkeypatch.setattr(runner, "run", played)


_WORDS = ("probe", "--op", "all_reduce", "--sizes", "1K,1M", "--format", "json", "--scaling")


def test_a_run_that_fails_costs_no_other(nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    _play(monkeypatch)
    done = nccltool(*_WORDS, "4,3,2")
    document = json.loads(done.out)
    assert (done.code, document["exit_code"], document["status"]) == (3, 3, "incomplete")
    assert [(one["ranks"], one["exit_code"]) for one in document["runs"]] == [(2, 0), (3, 3), (4, 0)]
    assert [one["code"] for one in document["runs"][1]["findings"]] == [DIED.code]
    assert all((Path(one["folder"]) / "run.json").exists() for one in document["runs"])
    assert f"ERROR {DIED.code}" in done.err
    assert [point["ranks"] for point in document["curves"][0]["points"]] == [2, 3, 4]


def test_the_report_of_the_series_is_the_command_that_is_printed(
    nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _play(monkeypatch)
    said = nccltool(*_WORDS, "2,4", "--run-dir", str(tmp_path / "my runs")).err
    (line,) = (line for line in said.splitlines() if line.startswith("draw the curves: nccltool "))
    words = shlex.split(line.partition("nccltool ")[2])
    report = nccltool(*words[: words.index("--output")])
    assert report.code == 0
    assert "Scaling: Efficiency of bandwidth" in report.out


def test_ctrl_c_ends_the_series(nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    _play(monkeypatch, interrupted_at=3)
    done = nccltool(*_WORDS, "2,3,4")
    document = json.loads(done.out)
    assert (done.code, document["asked"], [one["ranks"] for one in document["runs"]]) == (130, 3, [2, 3])
