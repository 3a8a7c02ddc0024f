"""Logs are judged while they grow: when it is sure, and why it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.triage import follow as triage_follow
from nccltool.triage.follow import FollowOptions, FollowResult
from nccltool.triage.incident import Incident
from tests.incidents import LOGS
from tests.triage.conftest import Clock

SHM, RETRIED = LOGS["shm-64m-pod"], LOGS["retried-and-finished"]
INIT = "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x9 - Init START\n"
LIMIT_S = 60.0
"""Ends a test that would hang."""
SURE, SURE_OF_AN_ECHO = "certain: unchanged for 2 s", "certain: unchanged for 6 s"


def follow(*paths: Path, settle_s: float = 2.0, for_s: float = LIMIT_S) -> tuple[FollowResult, list[str]]:
    said: list[str] = []
    names = tuple(map(str, paths))
    order = FollowOptions(paths=names, command=(), settle_s=settle_s, for_s=for_s)
    return triage_follow.follow(order, said.append, refuse), said


def refuse(incident: Incident) -> None:
    raise AssertionError("what is sure ends the following")


def summed(followed: FollowResult) -> tuple[str, int, str]:
    """What it was, the exit code, and why it ended."""
    return followed.incident.root_cause, followed.incident.verdict.exit_code, followed.why


def test_a_file_that_grows(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "job.log"
    log.write_text(INIT)
    clock.append(log, SHM)
    followed, _ = follow(log)
    assert summed(followed) == ("shm-size", 1, SURE)
    assert followed.incident.first_failure is not None
    assert (followed.incident.first_failure.file, followed.incident.first_failure.line) == (str(log), 2)
    assert followed.incident.lines_read == 1 + SHM.count("\n")


def test_the_last_line_is_judged_when_its_end_does_not_come(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "job.log"
    log.write_text("starting\n[rank1]: ValueError: no such file")
    followed, _ = follow(log, settle_s=20, for_s=5)
    assert summed(followed) == ("none", 4, "the --for time has elapsed")
    followed, _ = follow(log)
    assert summed(followed) == ("app-error", 1, SURE)


def test_what_is_overcome_is_not_said(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "job.log"
    log.write_text(RETRIED)
    followed, said = follow(log)
    assert summed(followed) == ("none", 0, "the job has ended")
    assert not [note for note in said if note.startswith("looks like")]


@pytest.mark.parametrize(("text", "cause"), [(INIT, "none"), (SHM, "shm-size")], ids=["running", "failed"])
def test_a_job_that_goes_on_does_not_hang_yet(text: str, cause: str, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "job.log").write_text(text)
    followed, _ = follow(tmp_path / "job.log", settle_s=30, for_s=5)
    assert summed(followed) == (cause, 0 if cause == "none" else 1, "the --for time has elapsed")


def test_a_job_that_stands_still_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(triage_follow, "STANDS_STILL_S", 3.0)
    (tmp_path / "job.log").write_text(INIT)
    followed, said = follow(tmp_path / "job.log", settle_s=30, for_s=8)
    assert summed(followed) == ("other", 1, "the --for time has elapsed")
    assert [note for note in said if note.startswith("something failed, but the cause is not certain yet: other")]


def test_the_end_of_who_writes_is_the_end(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "job.log"
    with log.open("w") as writer:
        writer.write("training step 1\n")
        writer.flush()
        clock.later(writer.close, 5.0)
        followed, _ = follow(log)
        assert writer.closed
    assert (followed.why, followed.incident.lines_read) == ("no process is writing to the logs", 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_shows_what_is_known(number: int, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "job.log").write_text(SHM)
    before = signal.getsignal(number)
    signal.signal(number, refuse_signal)
    try:
        clock.later(lambda: os.kill(os.getpid(), number))
        followed, _ = follow(tmp_path / "job.log", settle_s=30)
        assert signal.getsignal(number) is refuse_signal
    finally:
        signal.signal(number, before)
    assert summed(followed) == ("shm-size", 130, "interrupted")
    assert followed.incident.verdict.status == "incomplete"


def refuse_signal(number: int, frame: object) -> None:
    raise AssertionError("the signal was not taken")


class Running:
    """nccltool in a process of its own, fed line by line."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nccltool", "triage", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def feed(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


def test_a_pipe_is_judged_as_it_comes_and_read_to_its_end() -> None:
    running = Running("--settle", "0.2", "-")
    running.feed(INIT + SHM)
    assert running.line().startswith("FAIL triage: shm-size ")  # the pipe is still open
    running.feed("and so on\n")
    out, err = running.process.communicate(timeout=LIMIT_S)
    assert running.process.returncode == 1
    assert "root cause" not in out
    assert err.splitlines()[-1] == "end of input: still shm-size"


def test_following_a_pipe_ends_before_it_does() -> None:
    running = Running("--follow", "--settle", "0.2", "--format", "json", "-")
    running.feed(INIT + SHM)
    assert running.process.wait(LIMIT_S) == 1  # the pipe is still open
    assert running.process.stdin
    running.process.stdin.close()
    assert running.process.stdout
    assert json.loads(running.process.stdout.read())["root_cause"] == "shm-size"
    running.process.stdout.close()
    assert running.process.stderr
    running.process.stderr.close()
