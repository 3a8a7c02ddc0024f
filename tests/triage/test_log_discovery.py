"""Logs that come while others are followed, rotated ones, pipes, and dumps among them."""

import os
from functools import partial
from pathlib import Path

import pytest

from tests.triage.conftest import Clock
from tests.triage.flight_recorder.samples import GOOD, waits, write
from tests.triage.test_follow import INIT, SHM, SURE, SURE_OF_AN_ECHO, follow, summed


@pytest.mark.parametrize("name", ["job.log", "logs/rank1.log"])
def test_a_file_that_is_not_there_yet(name: str, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "logs").mkdir()
    log = tmp_path / name
    clock.append(log, SHM)
    followed, said = follow(tmp_path / name.partition("/")[0])
    assert summed(followed) == ("shm-size", 1, SURE)
    assert (f"waiting for {log}, which does not exist yet" in said) == (name == "job.log")


def test_a_log_that_was_rotated_is_read_once(tmp_path: Path, clock: Clock) -> None:
    log = tmp_path / "job.log"
    log.write_text(INIT)
    clock.later(partial(log.rename, tmp_path / "job.log.1"))
    clock.append(log, SHM)
    followed, said = follow(tmp_path)
    assert f"{log} starts over: it was rotated or truncated" in said
    assert followed.incident.first_failure is not None
    assert followed.incident.first_failure.file == f"{log} (2)"
    assert followed.incident.lines_read == 1 + SHM.count("\n")


def test_dumps_that_come_are_read_together(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "job.log").write_text(INIT)

    def dump() -> None:
        write(tmp_path, [*GOOD, waits(3)], [*GOOD, waits(3)], GOOD)
        (tmp_path / "notes_7").write_text("{ is no dump\n[rank1]: nothing\n")

    clock.later(dump)
    followed, _ = follow(tmp_path)
    assert followed.why == SURE_OF_AN_ECHO
    assert followed.incident.root_cause == "straggler-timeout"
    assert followed.incident.offender is not None
    assert followed.incident.offender.name == "2"
    assert followed.incident.lines_read == 6


@pytest.mark.parametrize("first", ["", "{\n"])
def test_a_log_that_could_have_been_a_dump(first: str, tmp_path: Path, clock: Clock) -> None:
    """By its name, and as long as it is empty."""
    log = tmp_path / "rank1"
    log.write_text(first)
    clock.append(log, SHM)
    for _ in range(4):
        clock.append(log, "step\n")
    followed, _ = follow(tmp_path)
    assert followed.incident.root_cause == "shm-size"


def test_a_named_pipe(tmp_path: Path, clock: Clock) -> None:
    os.mkfifo(tmp_path / "pipe1")
    clock.later(partial((tmp_path / "pipe1").write_text, SHM))
    followed, _ = follow(tmp_path / "pipe1")
    assert followed.incident.root_cause == "shm-size"


def test_a_pickle_that_comes_does_not_end_it(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "dump_0").write_bytes(b"\x80\x04 entries")
    followed, said = follow(tmp_path, for_s=5.0)
    assert followed.why == "the --for time has elapsed"
    assert [note for note in said if "is a pickled flight recorder dump" in note]
