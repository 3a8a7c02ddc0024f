"""Logs are judged while they grow: when it is sure, and why it ends."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nccltool.triage import follow as triage_follow
from nccltool.triage import log_discovery
from nccltool.triage.follow import FollowOptions, FollowResult
from nccltool.triage.incident import Incident
from tests.incidents import INCIDENTS
from tests.triage.test_flight_recorder import GOOD, waits, write

LOGS = {incident.name: incident.log for incident in INCIDENTS}
SHM, RETRIED = LOGS["shm-64m-pod"], LOGS["retried-and-finished"]
INIT = "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0x9 - Init START\n"
LIMIT_S = 60.0
"""Ends a test that would hang."""
SURE, SURE_OF_AN_ECHO = "sure for 0.4 s", "sure for 1.2 s"


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triage_follow, "TICK_S", 0.05)
    monkeypatch.setattr(triage_follow, "SCAN_S", 0.1)
    monkeypatch.setattr(log_discovery, "SCAN_S", 0.1)


@contextmanager
def meanwhile(write: Callable[[], None]) -> Iterator[None]:
    """Something else goes on, when the following has begun."""

    def run() -> None:
        time.sleep(0.3)
        write()

    other = threading.Thread(target=run)
    other.start()
    try:
        yield
    finally:
        other.join()


def follow(*paths: Path, settle_s: float = 0.4, for_s: float = LIMIT_S) -> tuple[FollowResult, list[str]]:
    said: list[str] = []
    names = tuple(map(str, paths))
    order = FollowOptions(paths=names, command=(), settle_s=settle_s, for_s=for_s)
    return triage_follow.follow(order, said.append, refuse), said


def refuse(incident: Incident) -> None:
    raise AssertionError("what is sure ends the following")


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        for part in (text[:40], text[40:]):
            file.write(part)
            file.flush()
            time.sleep(0.1)


def summed(followed: FollowResult) -> tuple[str, int, str]:
    """What it was, the exit code, and why it ended: the thread that writes here may be seen to be gone first."""
    why = followed.why.replace("nobody writes any more", SURE)
    return followed.incident.root_cause, followed.incident.verdict.exit_code, why


def test_a_file_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(INIT)
    with meanwhile(lambda: append(log, SHM)):
        followed, _ = follow(log)
    assert summed(followed) == ("shm-size", 1, SURE)
    assert followed.incident.first_failure is not None
    assert (followed.incident.first_failure.file, followed.incident.first_failure.line) == (str(log), 2)
    assert followed.incident.lines_read == 1 + SHM.count("\n")


@pytest.mark.parametrize("name", ["job.log", "logs/rank1.log"])
def test_a_file_that_is_not_there_yet(name: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / name
    with meanwhile(lambda: append(log, SHM)):
        followed, said = follow(tmp_path / name.partition("/")[0])
    assert summed(followed) == ("shm-size", 1, SURE)
    assert (f"waiting for {log}, which is not there yet" in said) == (name == "job.log")


def test_a_log_that_was_rotated_is_read_once(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(INIT)

    def rotate() -> None:
        log.rename(tmp_path / "job.log.1")
        append(log, SHM)

    with meanwhile(rotate):
        followed, said = follow(tmp_path)
    assert f"{log} begins anew: it was rotated or cut off" in said
    assert followed.incident.first_failure is not None
    assert followed.incident.first_failure.file == f"{log} (2)"
    assert followed.incident.lines_read == 1 + SHM.count("\n")


def test_the_last_line_is_judged_when_its_end_does_not_come(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("starting\n[rank1]: ValueError: no such file")
    followed, _ = follow(log, settle_s=20, for_s=0.5)
    assert summed(followed) == ("none", 4, "the time of --for is over")
    followed, _ = follow(log)
    assert summed(followed) == ("app-error", 1, SURE)


def test_what_is_overcome_is_not_said(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(RETRIED)
    followed, said = follow(log, settle_s=0.2)
    assert summed(followed) == ("none", 0, "the job has ended")
    assert not [note for note in said if note.startswith("looks like")]


@pytest.mark.parametrize(("text", "cause"), [(INIT, "none"), (SHM, "shm-size")], ids=["running", "failed"])
def test_a_job_that_goes_on_does_not_hang_yet(text: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(text)
    followed, _ = follow(tmp_path / "job.log", settle_s=30, for_s=0.5)
    assert summed(followed) == (cause, 0 if cause == "none" else 1, "the time of --for is over")


def test_a_job_that_stands_still_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triage_follow, "STANDS_STILL_S", 0.3)
    (tmp_path / "job.log").write_text(INIT)
    followed, said = follow(tmp_path / "job.log", settle_s=30, for_s=0.8)
    assert summed(followed) == ("other", 1, "the time of --for is over")
    assert [note for note in said if note.startswith("something failed; not sure yet what: other")]


def test_the_end_of_who_writes_is_the_end(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    script = 'exec >>"$0"; echo "$1"; sleep 1'
    writer = subprocess.Popen(["/bin/sh", "-c", script, str(log), "training step 1"])
    try:
        followed, _ = follow(log)
    finally:
        writer.wait(LIMIT_S)
    assert (followed.why, followed.incident.lines_read) == ("nobody writes any more", 1)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_shows_what_is_known(number: int, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(SHM)
    before = signal.getsignal(number)
    signal.signal(number, refuse_signal)
    try:
        with meanwhile(lambda: os.kill(os.getpid(), number)):
            followed, _ = follow(tmp_path / "job.log", settle_s=30)
        assert signal.getsignal(number) is refuse_signal
    finally:
        signal.signal(number, before)
    assert summed(followed) == ("shm-size", 130, "interrupted")
    assert followed.incident.verdict.status == "incomplete"


def refuse_signal(number: int, frame: object) -> None:
    raise AssertionError("the signal was not taken")


def test_dumps_that_come_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(INIT)

    def dump() -> None:
        write(tmp_path, [*GOOD, waits(3)], [*GOOD, waits(3)], GOOD)
        (tmp_path / "notes_7").write_text("{ is no dump\n[rank1]: nothing\n")

    with meanwhile(dump):
        followed, _ = follow(tmp_path)
    assert followed.why in (SURE_OF_AN_ECHO, "nobody writes any more")
    assert followed.incident.root_cause == "straggler-timeout"
    assert followed.incident.offender is not None
    assert followed.incident.offender.name == "2"
    assert followed.incident.lines_read == 6


@pytest.mark.parametrize("first", ["", pytest.param("{\n", marks=pytest.mark.slow)])
def test_a_log_that_could_have_been_a_dump(first: str, tmp_path: Path) -> None:
    """By its name, and as long as it is empty."""
    log = tmp_path / "rank1"
    log.write_text(first)

    def go_on() -> None:
        append(log, SHM)
        for _ in range(4):
            append(log, "step\n")

    with meanwhile(go_on):
        followed, _ = follow(tmp_path)
    assert followed.incident.root_cause == "shm-size"


def test_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe1")

    def fill() -> None:
        (tmp_path / "pipe1").write_text(SHM)

    with meanwhile(fill):
        followed, _ = follow(tmp_path / "pipe1")
    assert followed.incident.root_cause == "shm-size"


def test_a_pickle_that_comes_does_not_end_it(tmp_path: Path) -> None:
    (tmp_path / "dump_0").write_bytes(b"\x80\x04 entries")
    followed, said = follow(tmp_path, for_s=1.0)
    assert followed.why == "the time of --for is over"
    assert [note for note in said if "is a pickled dump of the flight recorder" in note]


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
    running = Running("--settle", "0.5", "-")
    running.feed(INIT + SHM)
    assert running.line().startswith("root cause  shm-size")  # the pipe is still open
    running.feed("and so on\n")
    out, err = running.process.communicate(timeout=LIMIT_S)
    assert running.process.returncode == 1
    assert "root cause" not in out
    assert err.splitlines()[-1] == "end of input: it stays shm-size"


def test_following_a_pipe_ends_before_it_does() -> None:
    running = Running("--follow", "--settle", "0.5", "--format", "json", "-")
    running.feed(INIT + SHM)
    assert running.process.wait(LIMIT_S) == 1  # the pipe is still open
    assert running.process.stdin
    running.process.stdin.close()
    assert running.process.stdout
    assert json.loads(running.process.stdout.read())["root_cause"] == "shm-size"
    running.process.stdout.close()
    assert running.process.stderr
    running.process.stderr.close()
