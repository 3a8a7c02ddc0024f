"""The runner under a scheduler: what srun says, what a signal means, and that echoes of it are not blamed."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core import processes
from nccltool.launch import culprits, runner
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.launch.launchers import slurm
from nccltool.launch.launchers.base import Command, NodeCommands, SchedulerQuery
from nccltool.launch.order import LaunchOrder
from nccltool.launch.reach import slurm_ends
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from tests.launch.test_runner import ONE, PREAMBLE
from tests.samples import measured

CANCELLED = "0: slurmstepd: error: *** STEP 3.0 ON n1 CANCELLED AT 2026-11-21T07:53:21 ***"
JOB = "JobId=3 JobState={} Reason={} Restarts=0 EndTime=2026-11-21T07:55:28 PreemptTime=None"
Play = Callable[..., LaunchOutcome]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """This process does not stay the one that orphans are given to."""
    yield
    ctypes.CDLL(None).prctl(processes._PR_SET_CHILD_SUBREAPER, 0)


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Runs a program in place of srun."""
    monkeypatch.setattr(runner, "SETTLE_S", 0.6)
    monkeypatch.setattr(culprits, "ECHOES_S", 0.6)

    def run(
        program: str, progress: Callable[[RunState], None] = lambda state: None, answer: str = ""
    ) -> LaunchOutcome:
        asked = (sys.executable, "-I", "-S", "-c", f"print({answer!r})")
        launch = NodeCommands(
            launcher="slurm",
            why="a test",
            commands=(Command(argv=(sys.executable, "-I", "-S", "-c", PREAMBLE + program), nodes=(0,)),),
            explain=slurm_ends.explain,
            end_word=slurm_ends.end_word,
            scheduler_query=SchedulerQuery(argv=asked, read=lambda text: slurm_ends.from_job("3", text)),
        )
        order = LaunchOrder(job=ONE, leads=True, ranks_seen=1, launch=launch)
        run_dir = run_dir_of(tmp_path / "runs", ONE)
        outcome = runner.run(order, run_dir, progress)
        run_dir.close()
        return outcome

    return run


def codes(outcome: LaunchOutcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def test_a_step_that_is_cancelled(play: Play) -> None:
    outcome = play(f"spawned(0); measure(0); print({CANCELLED!r}, file=sys.stderr, flush=True); time.sleep(60)")
    assert (codes(outcome), outcome.interrupted) == (["slurm-cancelled"], False)
    assert outcome.findings[0].evidence == (CANCELLED,)
    assert [row.bytes for row in measured(outcome.state).measurements()] == [8]


def test_the_reason_comes_after_the_deaths(play: Play) -> None:
    """Slurm ends the ranks and tells srun at once; either may be heard first."""
    outcome = play(
        f"""
spawned(0)
say("exit", rank=0, code=-15)
time.sleep(0.3)
print({CANCELLED!r}, file=sys.stderr, flush=True)
time.sleep(60)
"""
    )
    assert codes(outcome) == ["slurm-cancelled"]


ABORTED = "srun: Job step aborted: Waiting up to 4 seconds for job step to finish."
TASK = "srun: error: n2: task 1: Killed"


def spoken(*lines: str) -> str:
    """A program whose rank dies while srun says this, and then nothing for longer than ranks are listened to."""
    said = f"print({chr(10).join(lines)!r}, file=sys.stderr, flush=True)"
    return f"spawned(0); {said}; say('exit', rank=0, code=-9); time.sleep(1.2); "


@pytest.mark.parametrize("lines", [(ABORTED, TASK), (TASK, ABORTED), (TASK,)])
def test_the_reason_comes_late(play: Play, lines: tuple[str, ...]) -> None:
    """The slurmstepd that writes it is on a busy host; srun has heard of the deaths on the others."""
    outcome = play(spoken(*lines) + f"print({CANCELLED!r}, file=sys.stderr, flush=True); time.sleep(60)")
    assert codes(outcome) == ["slurm-cancelled"]
    assert "according to slurmstepd on n1" in outcome.findings[0].message


@pytest.mark.parametrize("end", ["", "time.sleep(60)"])
@pytest.mark.parametrize(
    ("lines", "state", "reason", "expected"),
    [
        ((ABORTED, TASK), "RUNNING", "None", "slurm-cancelled"),
        ((ABORTED, TASK), "COMPLETING", "TimeLimit", "slurm-time-limit"),
        ((TASK,), "PREEMPTED", "None", "slurm-preempted"),
        ((TASK,), "RUNNING", "None", "slurm-task-killed"),
    ],
)
def test_the_reason_never_comes(
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
    lines: tuple[str, ...],
    state: str,
    reason: str,
    expected: str,
    end: str,
) -> None:
    monkeypatch.setattr(runner, "REASON_S", 2.0)
    assert codes(play(spoken(*lines) + end, answer=JOB.format(state, reason))) == [expected]


def test_a_rank_that_dies_by_itself(play: Play) -> None:
    outcome = play('spawned(0); say("exit", rank=0, code=-9); time.sleep(60)')
    assert codes(outcome) == ["rank-died"]


@pytest.mark.parametrize("code", [-9, -15])
@pytest.mark.parametrize(
    ("state", "expected"),
    [("PENDING", "slurm-requeued"), ("COMPLETING", "slurm-cancelled"), ("RUNNING", "rank-died")],
)
def test_nothing_but_the_deaths_is_heard(play: Play, code: int, state: str, expected: str) -> None:
    """On a busy host, the word of srun and the signal to this command come later than the deaths."""
    answer = JOB.format(state, "None")
    outcome = play(f'spawned(0); say("exit", rank=0, code={code}); time.sleep(60)', answer=answer)
    assert codes(outcome) == [expected]


def test_a_rank_that_raised_asks_nobody(play: Play) -> None:
    outcome = play(
        """
spawned(0)
say("error", rank=0, in_collective=False, text="x")
say("exit", rank=0, code=1)
time.sleep(60)
""",
        answer=JOB.format("COMPLETING", "None"),
    )
    assert codes(outcome) == ["rank-error"]


def test_text_of_a_rank_is_no_word_of_srun(play: Play) -> None:
    """Only standard error is srun's own."""
    outcome = play(f'print({CANCELLED!r}, flush=True); spawned(0); say("exit", rank=0, code=-9); time.sleep(60)')
    assert codes(outcome) == ["rank-died"]


@pytest.mark.parametrize(
    ("number", "answer", "expected", "interrupted"),
    [
        (signal.SIGTERM, JOB.format("COMPLETING", "TimeLimit"), ["slurm-time-limit"], False),
        (signal.SIGHUP, JOB.format("COMPLETING", "None"), ["slurm-cancelled"], False),
        (signal.SIGTERM, JOB.format("RUNNING", "None"), [], True),
        (signal.SIGTERM, "", [], True),
        (signal.SIGINT, JOB.format("COMPLETING", "None"), [], True),
    ],
)
def test_what_a_signal_means(
    play: Play, number: signal.Signals, answer: str, expected: list[str], interrupted: bool
) -> None:
    def when_spawned(state: RunState) -> None:
        if state.ranks:
            os.kill(os.getpid(), number)

    outcome = play("spawned(0); time.sleep(60)", when_spawned, answer)
    assert (codes(outcome), outcome.interrupted) == (expected, interrupted)


def test_no_answer_to_what_a_signal_means(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SCHEDULER_QUERY_S", 0.1)
    monkeypatch.setenv("PATH", "/nonexistent")

    def when_spawned(state: RunState) -> None:
        if state.ranks:
            os.kill(os.getpid(), signal.SIGTERM)

    outcome = play("spawned(0); time.sleep(60)", when_spawned)
    assert (codes(outcome), outcome.interrupted) == ([], True)


def test_lines_with_labels_in_pieces(tmp_path: Path) -> None:
    """As srun --label writes a long event of each of two tasks."""
    program = """
lines = {}
for rank in (0, 1):
    event = {"event": "log", "rank": rank, "text": str(rank) * 3000}
    lines[rank] = b"\\x1e" + json.dumps(event).encode()
for start in range(0, 4096, 1024):
    for rank, line in lines.items():
        if line[start : start + 1024]:
            os.write(1, str(rank).encode() + b": " + line[start : start + 1024] + b"\\n")
"""
    commands = (Command(argv=(sys.executable, "-I", "-S", "-c", PREAMBLE + program), nodes=(0,)),)
    launch = NodeCommands(launcher="slurm", why="a test", commands=commands, unwrapper=slurm.Labels)
    wanted = replace(ONE, timeout_s=5.0)
    run_dir = run_dir_of(tmp_path / "runs", wanted)
    runner.run(LaunchOrder(job=wanted, leads=True, ranks_seen=1, launch=launch), run_dir, lambda state: None)
    run_dir.close()
    kept = [json.loads(line) for line in (run_dir.path / "events.jsonl").read_text().splitlines()]
    assert [(event["rank"], set(event["text"]), len(event["text"])) for event in kept] == [
        (0, {"0"}, 3000),
        (1, {"1"}, 3000),
    ]
