"""Runs whose ranks are started anew, with small programs in place of the node process."""

import json
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.findings import Subject
from nccltool.launch import culprits, runner
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.launch.launchers.base import Command, NodeCommands
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.probe.run import ProbeBegun
from nccltool.train import judge
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.result import Restart, TrainRun
from nccltool.train.run import run_with_restarts
from nccltool.train.state import heard
from tests.launch.test_runner import PREAMBLE

STEPS = 3
SAYS = """
attempt, done = job["attempt"], job["train"]["done"]
WORLD["steps"] = 8
def step(index, number, strategy="ddp", loss="5.5"):
    say("enter", rank=0, step=index, op=strategy, bytes=0, label=f"step {number} of {strategy}")
    say("trained-step", step=index, strategy=strategy, number=number, loss=loss, reference_loss="5.5",
        gradient_norm="1", reference_gradient_norm="1", ns=1000)
def ready(strategy, index):
    say("compared", rank=0, strategy=strategy, micro_batches=1, errors=[["loss", "0.0", 1.0]], rule="rule")
    say("samples", step=index, ns=[1000 + attempt])
    say("of-ranks", strategy=strategy, step=index, first=0, ns=[], peak_bytes=[1])
    say("timed-steps", step=index, strategy=strategy, sequences=4, tokens=8, without_sync_ns=None, alone_ns=None)
def killed():
    say("exit", rank=0, code=-9)
    sys.exit(1)
spawned(0)
say("world", **WORLD)
"""
IN_ORDER = """
for number in range(1, 4):
    step(number - 1, number)
ready("ddp", 3)
leave(0)
"""

Play = Callable[..., LaunchOutcome]


def asked(*strategies: str) -> TrainJob:
    spec = TrainSpec(strategies=strategies, steps=STEPS, timed_steps=1, checkpoint="/c")
    return TrainJob(run_id="20250102T030405Z-beef", nodes=1, nproc_per_node=1, train=spec)


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Runs a program as the node process of each attempt."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(runner, "SETTLE_S", 0.2)
    monkeypatch.setattr(culprits, "ECHOES_S", 0.2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))

    def run(
        program: str,
        most: int,
        wanted: TrainJob | None = None,
        progress: Callable[[RunState], None] = lambda state: None,
    ) -> LaunchOutcome:
        command = Command(argv=(sys.executable, "-I", "-S", "-c", PREAMBLE + SAYS + program), nodes=(0,))
        launch = NodeCommands(launcher="local", why="a test", commands=(command,))
        wanted = wanted or asked("ddp")
        order = LaunchOrder(job=wanted, leads=True, ranks_seen=1, launch=launch, max_restarts=most)
        run_dir = run_dir_of(tmp_path / "runs", wanted)
        try:
            return run_with_restarts(order, run_dir, progress)
        finally:
            run_dir.close()
            assert list((tmp_path / "scratch").iterdir()) == []

    return run


def judged(outcome: LaunchOutcome, wanted: TrainJob) -> TrainRun:
    begun = ProbeBegun(
        job=wanted,
        leads=True,
        part=0,
        parts=1,
        ranks_seen=1,
        command=("nccltool", "train"),
        started="2025-01-02T03:04:05Z",
        nccltool="0.1.0",
        torch="2.13.0",
    )
    return judge.judged(outcome, begun)


RESUMING = """
if attempt == 0:
    step(0, 1)
    step(1, 2, loss="9.9")
    say("enter", rank=0, step=2, op="ddp", bytes=0, label="step 3 of ddp")
    killed()
say("resumed", strategy="ddp", number=1, folder="/c/ddp/step-000001", ranks_then=1, sequences=4, ns=10**9)
step(1, 2)
step(2, 3)
ready("ddp", 3)
leave(0)
"""


def test_a_run_goes_on_where_its_checkpoint_ends(play: Play, tmp_path: Path) -> None:
    outcome = play(RESUMING, 2)
    (restart,) = heard(outcome.state).restarts
    assert restart.lost_s is not None
    assert restart.lost_s > 0
    assert replace(restart, message="", lost_s=None) == Restart(
        attempt=1,
        code="rank-died",
        subject=Subject(kind="rank", name="0"),
        message="",
        strategy="ddp",
        step=3,
        resumed_from=1,
        lost_s=None,
    )
    run = judged(outcome, asked("ddp"))
    (one,) = run.trainings
    assert [(step.step, step.loss) for step in one.steps] == [(1, 5.5), (2, 5.5), (3, 5.5)]
    assert one.checkpoint
    assert (one.checkpoint.resumed_from, one.checkpoint.ranks_then, one.checkpoint.load_s) == (1, 1, 1.0)
    assert (run.verdict.status, run.verdict.exit_code, run.restarts) == ("warn", 0, heard(outcome.state).restarts)
    found = {finding.code: finding for finding in run.findings}
    assert [finding.severity for finding in run.findings] == ["warning", "info"]
    assert (
        " in step 3 of ddp; all ranks were restarted (restart 1 of at most 2), and ddp resumed after step 1 ("
        in (found["restarted"].message)
    )
    assert found["resumed"].message == (
        "ddp resumed after step 1, saved by 1 rank: the global batch remains 4 sequences, 4 on each of 1 rank"
    )
    kept = [
        json.loads(line) for file in tmp_path.glob("runs/*/events.jsonl") for line in file.read_text().splitlines()
    ]
    assert [event["attempt"] for event in kept if event["event"] == "anew"] == [1]


def test_what_was_asked_for_is_no_reason_to_warn(play: Play) -> None:
    wanted = replace(asked("ddp"), fault="kill:rank=0,step=3,attempt=0")
    run = judged(play(RESUMING, 1, wanted), wanted)
    assert (run.verdict.status, [finding.severity for finding in run.findings]) == ("pass", ["info"] * 3)


def test_what_is_done_is_not_done_again(play: Play) -> None:
    program = """
if attempt == 0:
    for number in range(1, 4):
        step(number - 1, number)
    ready("ddp", 3)
    step(4, 1, "fsdp")
    say("samples", step=7, ns=[5, 5])
    killed()
assert done == ["ddp"]
for number in range(1, 4):
    step(3 + number, number, "fsdp")
ready("fsdp", 7)
leave(0)
"""
    wanted = asked("ddp", "fsdp")
    outcome = play(program, 1, wanted)
    run = judged(outcome, wanted)
    assert [one.status for one in run.trainings] == ["pass", "pass"], run.findings
    assert [one.step_time_s and one.step_time_s.mean for one in run.trainings] == [1e-6, 1.001e-6]
    assert [(restart.strategy, restart.step, restart.resumed_from) for restart in run.restarts] == [("fsdp", 1, 0)]


def test_when_no_restart_is_left_the_last_culprit_is_named(play: Play) -> None:
    outcome = play("step(0, 1)\nkilled()", 2)
    assert [restart.attempt for restart in heard(outcome.state).restarts] == [1, 2]
    assert [finding.code for finding in outcome.findings] == ["restarted", "restarted", "rank-died"]
    run = judged(outcome, asked("ddp"))
    assert (run.verdict.status, run.verdict.exit_code) == ("incomplete", 3)


FULL = 'dict(code="checkpoint-unusable", severity="error", subject=dict(kind="file", name="/c"), message="full")'


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (f'say("finding", finding={FULL})\nleave(0)', "checkpoint-unusable"),
        (f'say("finding", finding={FULL})\nkilled()', "checkpoint-unusable"),
    ],
)
def test_what_would_be_the_same_again_is_not_tried_again(play: Play, program: str, code: str) -> None:
    outcome = play(program, 3)
    assert heard(outcome.state).restarts == ()
    assert code in {finding.code for finding in outcome.findings}


def test_a_run_in_order_is_one_attempt(play: Play) -> None:
    outcome = play(IN_ORDER, 3)
    assert (heard(outcome.state).restarts, outcome.findings, outcome.interrupted) == ((), (), False)


def test_a_signal_ends_it_for_good(play: Play) -> None:
    def interrupt(state: RunState) -> None:
        if state.job.attempt and state.world is not None:
            signal.raise_signal(signal.SIGINT)

    outcome = play("killed() if attempt == 0 else time.sleep(60)", 5, progress=interrupt)
    assert (outcome.interrupted, len(heard(outcome.state).restarts)) == (True, 1)
    assert heard(outcome.state).restarts[0].lost_s is None
