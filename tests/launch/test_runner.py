"""The runner, with small programs in place of the node process: what they say, and how they end."""

import ctypes
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool import __version__
from nccltool.core import processes
from nccltool.core.findings import Finding, Subject
from nccltool.core.run_directory import RunDir
from nccltool.launch import culprits, events, runner, session
from nccltool.launch.job import Job
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.launch.launchers.base import Command, NodeCommands
from nccltool.launch.order import LaunchOrder
from nccltool.launch.run_state import RunState
from nccltool.launch.runner import LaunchOutcome
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.strategies.base import OptionValue
from tests.samples import finding, job, measured

PREAMBLE = """
import json, os, signal, sys, time
job = json.loads(sys.stdin.readline())
def say(event, **fields):
    os.write(1, b"\\x1e" + json.dumps({"event": event, **fields}).encode() + b"\\n")
def spawned(rank):
    say("spawned", rank=rank, node_rank=0, host="alpha", pid=100 + rank)
def measure(step):
    say("samples", step=step, ns=[1000, 2000])
    say("result", step=step, op="all_reduce", count=2, bytes=8, bytes_per_rank=8, dtype="float32", reduce_op="sum",
        placement="in-place", cadence="stream", noisy=False, wrong=0)
def leave(rank):
    say("bye", rank=rank)
    say("exit", rank=rank, code=0)
WORLD = dict(world_size=1, emulated=False, backend="gloo", backend_version="2", backend_reason="no GPU", steps=2)
"""

ONE = job(nodes=1, nproc_per_node=1, emulated=False, timeout_s=60.0, join_timeout_s=60.0, deadline_s=60.0)

Play = Callable[..., LaunchOutcome]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunDir]:
    run_dir = run_dir_of(tmp_path / "runs", ONE)
    yield run_dir
    run_dir.close()


@pytest.fixture
def play(folder: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Runs a program as the node process. At the end nothing of it is left, and this process is as it was."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(runner, "SETTLE_S", 0.2)
    monkeypatch.setattr(culprits, "ECHOES_S", 0.2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    def run(
        program: str, wanted: Job = ONE, progress: Callable[[RunState], None] = lambda state: None, ranks: int = 1
    ) -> LaunchOutcome:
        command = Command(argv=(sys.executable, "-I", "-S", "-c", PREAMBLE + program), nodes=(0,))
        launch = NodeCommands(launcher="local", why="a test", commands=(command,))
        order = LaunchOrder(job=wanted, leads=True, ranks_seen=ranks, launch=launch)
        return runner.run(order, folder, progress)

    yield run
    ctypes.CDLL(None).prctl(processes._PR_SET_CHILD_SUBREAPER, 0)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def text_of(folder: RunDir, name: str) -> str:
    return (folder.path / name).read_text()


def test_a_run_in_order(play: Play, folder: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    outcome = play(
        """
spawned(0)
say("world", **WORLD)
for step in range(2):
    measure(step)
    answer = json.loads(sys.stdin.readline())
    assert answer["do"] == "saved" and 0 < answer["left_s"] <= 3600, answer
leave(0)
"""
    )
    assert (outcome.findings, outcome.interrupted) == ((), False)
    assert [row.time_s.mean for row in measured(outcome.state).measurements()] == [1.5e-6, 1.5e-6]
    assert synced == [folder._events] * 2
    kept = [json.loads(line)["event"] for line in text_of(folder, "events.jsonl").splitlines()]
    assert kept == ["spawned", "world", "samples", "result", "samples", "result", "bye", "exit"]


def test_a_result_is_on_disk_when_it_is_answered(play: Play, folder: RunDir) -> None:
    """The node process looks for itself before it goes on."""
    outcome = play(
        f"""
spawned(0)
measure(0)
sys.stdin.readline()
say("log", rank=0, text=str('"result"' in open({str(folder.path / "events.jsonl")!r}).read()))
leave(0)
"""
    )
    assert outcome.findings == ()
    assert text_of(folder, "log.txt") == "[rank 0] True\n"


def test_the_job_goes_in_and_temporary_files_go_into_its_scratch(play: Play, folder: RunDir) -> None:
    play(
        """
spawned(0)
scratch = job["scratch"]
say("log", rank=0, text=f"{job['run_id']} {os.environ['TMPDIR'] == scratch} {os.path.isdir(scratch)}")
leave(0)
"""
    )
    assert text_of(folder, "log.txt") == f"[rank 0] {ONE.run_id} True True\n"


SWAPPING = """
spawned(0)
if job["large_files"]:
    os.mkdir(job["large_files"])
    open(job["large_files"] + "/state.swp", "w").close()
say("log", rank=0, text=os.path.dirname(job["large_files"]))
"""


@pytest.mark.parametrize("end", ["leave(0)", 'sys.exit("no")', "os.kill(0, signal.SIGKILL)"])
def test_large_files_of_the_ranks_are_gone_after_every_end(
    play: Play, folder: RunDir, tmp_path: Path, end: str
) -> None:
    (tmp_path / "nvme").mkdir()
    play(SWAPPING + end, swapping(tmp_path / "nvme"))
    assert f"[rank 0] {tmp_path / 'nvme'}\n" in text_of(folder, "log.txt")
    assert list((tmp_path / "nvme").iterdir()) == []


def swapping(nvme: Path) -> Job:
    options: dict[str, OptionValue] = {"zero": 3, "offload_dir": str(nvme)}
    spec = TrainSpec(strategies=("deepspeed",), options=options)
    return TrainJob(run_id=ONE.run_id, train=spec, nodes=1, nproc_per_node=1, timeout_s=60.0, join_timeout_s=60.0)


def test_everything_else_is_log_text(play: Play, folder: RunDir) -> None:
    outcome = play(
        """
spawned(0)
print("a line", flush=True)
os.write(1, b"\\x1e{damaged\\n\\xff\\n")
leave(0)
os.write(2, b"no end")
"""
    )
    assert outcome.findings == ()
    assert set(text_of(folder, "log.txt").split("\n")) == {"a line", "\x1e{damaged", "�", "no end", ""}


def test_a_node_process_that_fails(play: Play) -> None:
    outcome = play('sys.exit("no module named torch")')
    assert outcome.findings == (
        Finding(
            code="node-failed",
            severity="error",
            subject=Subject(kind="run", name="node process"),
            message="the node process ended (exit code 1) before its ranks were done",
            evidence=("no module named torch",),
            remedy="read log.txt in the run directory; check that python -c 'import torch' works there",
        ),
    )


def test_a_node_process_that_is_killed(play: Play) -> None:
    outcome = play("spawned(0)\nos.kill(os.getpid(), 9)")
    (found,) = outcome.findings
    assert (found.code, found.message) == (
        "node-failed",
        "the node process was killed by SIGKILL before its ranks were done",
    )
    assert found.remedy == (
        "run on this host: dmesg | grep -i -E 'out of memory|killed process' (the OOM killer sends SIGKILL)"
    )


def test_a_node_process_from_which_nothing_comes(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "IMPORT_S", 0.0)
    monkeypatch.setattr(session, "_TICK_S", 0.02)
    outcome = play("time.sleep(600)", replace(ONE, timeout_s=0.2, join_timeout_s=0.2))
    (found,) = outcome.findings
    assert (found.code, found.message) == ("node-failed", "no rank started within 0 s")


def test_a_rank_that_is_silent(play: Play) -> None:
    outcome = play(
        """
spawned(0)
spawned(1)
say("beat", rank=0, phase="joining", step=-1, calls=1, state="S")
say("beat", rank=1, phase="joining", step=-1, calls=0, state="S")
time.sleep(600)
""",
        replace(ONE, timeout_s=0.3),
        ranks=2,
    )
    (found,) = outcome.findings
    assert (found.code, found.subject) == ("rank-hung", Subject(kind="rank", name="1"))


def test_a_driver_that_does_not_answer(play: Play) -> None:
    began = time.monotonic()
    outcome = play(
        """
spawned(0)
spawned(1)
say("beat", rank=0, phase="joining", step=-1, calls=1, state="S")
say("beat", rank=1, phase="checking its GPU", step=-1, calls=0, state="D", allowance_s=0.5)
time.sleep(600)
""",
        replace(ONE, timeout_s=0.2),
        ranks=2,
    )
    (found,) = outcome.findings
    assert (found.code, found.subject) == ("gpu-unusable", Subject(kind="rank", name="1"))
    assert 0.7 < time.monotonic() - began < 30


def test_the_death_of_an_agent_is_heard_after_those_of_its_ranks(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elastic ends the ranks before the agent ends."""
    monkeypatch.setattr(culprits, "ECHOES_S", 20.0)
    outcome = play(
        """
spawned(0)
say("exit", rank=0, code=-15, told=True)
time.sleep(0.5)
say("agent-killed", node_rank=0, host="alpha", code=-15)
""",
        ONE,
    )
    assert [finding.code for finding in outcome.findings] == ["agent-killed"]


def test_the_deadline(play: Play) -> None:
    outcome = play(
        """
spawned(0)
say("world", **WORLD)
measure(0)
while True:
    say("enter", rank=0, step=1, op="gather", bytes=8)
    time.sleep(0.05)
""",
        replace(ONE, deadline_s=0.5),
    )
    assert outcome.findings == (
        Finding(
            code="deadline",
            severity="error",
            subject=Subject(kind="run", name="deadline"),
            message="the run took longer than 500 ms; 1 of 2 steps were done",
            remedy="reduce the work (--op, -e, -n), or raise --deadline",
        ),
    )
    assert len(measured(outcome.state).measurements()) == 1


def test_the_deadline_of_a_training_speaks_of_its_steps(play: Play) -> None:
    step = {"strategy": "ddp", "number": 1, "ns": 1} | dict.fromkeys(
        ("loss", "reference_loss", "gradient_norm", "reference_gradient_norm"), "1.0"
    )
    outcome = play(
        f"""
spawned(0)
say("world", **WORLD | {{"steps": 7}})
say("trained-step", step=0, **{step})
while True:
    say("enter", rank=0, step=1, op="ddp", bytes=0)
    time.sleep(0.05)
""",
        TrainJob(
            run_id=ONE.run_id, nodes=1, nproc_per_node=1, train=TrainSpec(strategies=("ddp",)), deadline_s=0.5
        ),
    )
    (found,) = outcome.findings
    assert found.message == "the run took longer than 500 ms; 1 of 7 steps were done"
    assert found.remedy == "reduce the work (fewer strategies, --steps, --time-steps), or raise --deadline"


def test_the_first_fault_ends_the_run_and_its_culprit_is_named(play: Play) -> None:
    outcome = play(
        """
spawned(0)
spawned(1)
say("exit", rank=1, code=-9)
say("error", rank=0, in_collective=True, text="RuntimeError: closed")
say("exit", rank=0, code=1)
time.sleep(600)
""",
        ranks=2,
    )
    (found,) = outcome.findings
    assert (found.code, found.subject) == ("rank-died", Subject(kind="rank", name="1"))


def test_what_a_worker_found_is_enough(play: Play) -> None:
    reported = finding(code="world-size")
    line = events.encode(events.Reported(finding=reported))
    outcome = play(f"spawned(0)\nos.write(1, {line!r})\nleave(0)")
    assert outcome.findings == (reported,)


def test_wrong_data_is_found_in_a_run_that_goes_on(play: Play) -> None:
    outcome = play(
        """
spawned(0)
at = dict(step=0, op="all_reduce", bytes=8, elements=1, first_index=0)
say("wrong", rank=0, **at, got="1", expected="2", source="rank 1")
measure(0)
leave(0)
"""
    )
    assert [found.code for found in outcome.findings] == ["wrong-data"]
    assert len(measured(outcome.state).measurements()) == 1


def test_a_run_directory_that_takes_no_more(play: Play, folder: RunDir) -> None:
    """As a full disk does: from the first event on, every write fails."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, folder._events)
    os.close(full)
    outcome = play("spawned(0)\ntime.sleep(600)")
    assert outcome.findings == (
        Finding(
            code="run-dir-full",
            severity="error",
            subject=Subject(kind="file", name="run directory"),
            message=f"the run directory {folder.path} cannot be written: No space left on device",
            evidence=("the run was stopped, because each result must be saved before the next step starts",),
            remedy="use a writable folder with free space: --run-dir DIR or NCCLTOOL_RUN_DIR",
        ),
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_keeps_what_was_measured(play: Play, number: signal.Signals) -> None:
    def interrupt(state: RunState) -> None:
        if measured(state).results:
            os.kill(os.getpid(), number)

    outcome = play("spawned(0)\nsay('world', **WORLD)\nmeasure(0)\ntime.sleep(600)", progress=interrupt)
    assert (outcome.interrupted, outcome.findings) == (True, ())
    assert len(measured(outcome.state).measurements()) == 1


def test_a_fault_to_which_somebody_reacts_with_a_signal_comes_first(play: Play) -> None:
    def interrupt(state: RunState) -> None:
        if state.faults:
            os.kill(os.getpid(), signal.SIGTERM)

    outcome = play("spawned(0)\nsay('exit', rank=0, code=-11)\nspawned(1)", progress=interrupt, ranks=2)
    assert (outcome.interrupted, [found.code for found in outcome.findings]) == (False, ["rank-died"])


def test_what_is_under_way_when_a_launcher_ends_the_others_is_heard(play: Play) -> None:
    def interrupt(state: RunState) -> None:
        if state.ranks:
            os.kill(os.getpid(), signal.SIGTERM)

    program = "spawned(0)\ntime.sleep(0.05)\nsay('exit', rank=0, code=-11)\ntime.sleep(600)"
    outcome = play(program, progress=interrupt)
    assert (outcome.interrupted, [found.code for found in outcome.findings]) == (False, ["rank-died"])


def test_a_signal_after_the_last_rank_has_left_changes_nothing(play: Play) -> None:
    def interrupt(state: RunState) -> None:
        if state.everybody_left:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = play("spawned(0)\nmeasure(0)\nleave(0)\ntime.sleep(600)", progress=interrupt)
    assert (outcome.interrupted, outcome.findings) == (False, ())


def test_nothing_outlives_the_run(play: Play) -> None:
    """A child that ignores what can be ignored, and holds the pipes open."""
    outcome = play(
        """
if os.fork() == 0:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    spawned(0)
    say("log", rank=0, text=str(os.getpid()))
    say("exit", rank=0, code=3)
    time.sleep(600)
"""
    )
    pid = int(outcome.state.ranks[0].log[0])
    end = time.monotonic() + 10
    while processes.state(pid) not in ("", "Z") and time.monotonic() < end:
        time.sleep(0.01)
    assert processes.state(pid) in ("", "Z")


@pytest.mark.parametrize(
    ("calls", "state", "ended"),
    [
        (1, "S", ("deadline", "deadline")),  # both are inside a call that may take an hour
        (0, "S", ("rank-hung", "1")),  # one does not come to it
        (1, "T", ("rank-hung", "1")),  # one was stopped in the middle of it
    ],
)
def test_a_call_that_takes_long_is_no_hang(play: Play, calls: int, state: str, ended: tuple[str, str]) -> None:
    outcome = play(
        f"""
spawned(0)
spawned(1)
for rank in 0, 1:
    say("enter", rank=rank, step=0, op="all_reduce", bytes=2**33)
say("beat", rank=0, phase="timing", step=0, calls=1, state="S", allowance_s=3600.0)
say("beat", rank=1, phase="timing", step=0, calls={calls}, state="{state}", allowance_s={3600.0 * calls})
time.sleep(600)
""",
        replace(ONE, timeout_s=0.3, deadline_s=1.0),
        ranks=2,
    )
    (found,) = outcome.findings
    assert (found.code, found.subject.name) == ended
    if ended[0] == "deadline":  # where they stood may be all that there is to say
        assert found.evidence[0].endswith("in all_reduce at 8 GiB (timing); no rank stands out")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param(130, ("node-failed", "n1"), id="ended by SIGINT"),
        pytest.param(1, ("collective-failed", "all ranks"), id="ended with its ranks"),
    ],
)
def test_what_ranks_say_is_an_echo_of_a_process_that_was_ended_on_another_host(
    code: int, found: tuple[str, str], folder: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SETTLE_S", 0.2)
    program = f"""
say("node", node=0, host="alpha", host_id="x", nccltool={__version__!r}, gpus=0, addresses=["10.0.0.1"], port=1,
    data_port=2)
while "places" not in sys.stdin.readline():
    pass
for rank in range(2):
    spawned(rank)
for rank in range(2):
    say("error", rank=rank, in_collective=True, text="RuntimeError: Connection reset by peer")
    say("exit", rank=rank, code=1)
sys.exit({code})
"""
    command = Command(argv=(sys.executable, "-I", "-S", "-c", PREAMBLE + program), nodes=(0,), host="n1")
    launch = NodeCommands(launcher="ssh", why="a test", commands=(command,), remote=True)
    wanted = job(nodes=1, nproc_per_node=2, emulated=False, remote=True, timeout_s=60.0, deadline_s=60.0)
    order = LaunchOrder(job=wanted, leads=True, ranks_seen=2, launch=launch)
    outcome = runner.run(order, folder, lambda state: None)
    errors = [finding for finding in outcome.findings if finding.is_error]
    assert [(finding.code, finding.subject.name) for finding in errors] == [found]
