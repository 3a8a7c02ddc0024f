"""Files that several processes read are read as one process reads them: the same events in the same order."""

import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from nccltool.core import processes
from nccltool.core.errors import BadInput
from nccltool.triage import parallel_reader
from nccltool.triage.logs import log_files
from nccltool.triage.logs.base import WORDS, LogEvent
from nccltool.triage.logs.reader import LogReader
from tests.incidents import INCIDENTS


def logs(folder: Path, repeats: int = 1) -> list[str]:
    for number, incident in enumerate(INCIDENTS[:24]):
        (folder / f"rank{number:02}.log").write_text(incident.log * repeats)
    (folder / "empty.log").write_text("")
    return log_files.files([str(folder)])


def read(files: list[str], most: int) -> tuple[list[LogEvent], int]:
    reader = LogReader()
    return list(parallel_reader.events(files, reader, most)), reader.lines_read


def no_reader_is_left() -> bool:
    names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes.children()]
    return not any(b"nccltool.triage.parallel_reader" in name for name in names)


def test_two_processes_say_what_one_says(tmp_path: Path) -> None:
    files = logs(tmp_path, repeats=30)
    one, two = read(files, 1), read(files, 2)
    assert two == one
    assert [event.file for event in two[0]] == sorted(event.file for event in two[0])
    assert len(two[0]) > 24
    assert no_reader_is_left()


def test_small_folders_and_standard_input_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_reader, "_Worker", None)
    files = logs(tmp_path)
    reader = LogReader()
    assert list(parallel_reader.events(files, reader)) == read(files, 1)[0]
    assert not parallel_reader._has_plain_name("-")
    assert not parallel_reader._has_plain_name(os.fsdecode(b"rank\xff.log"))


def test_large_folders_are_worth_processes(tmp_path: Path) -> None:
    for name, size in (("a.log", 40 << 20), ("b.log", 15 << 20), ("c.log.gz", 1 << 20)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    a, b, c = log_files.files([str(tmp_path)])
    assert [parallel_reader._is_worth_it(some) for some in ([a], [a, b], [a, b, c])] == [False, False, True]


def test_a_file_that_cannot_be_read_is_said_when_it_is_its_turn(tmp_path: Path) -> None:
    files = logs(tmp_path)
    Path(files[5]).write_bytes(b"\xfd7zXZ\x00" + b"garbage that is no stream")
    found: list[LogEvent] = []
    with pytest.raises(BadInput, match=f"{files[5]} cannot be read"):
        found += list(parallel_reader.events(files[:5], LogReader(), 2))
        for event in parallel_reader.events(files, LogReader(), 2):
            found.append(event)
    assert {event.file for event in found} == set(files[:5]) - {files[0]}  # the empty one says nothing
    assert no_reader_is_left()


def test_what_a_killed_process_did_not_read_is_read_here(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.log", "b.log")]
    for file in files:
        os.mkfifo(file)

    def kill_and_write() -> None:
        writers = [os.open(file, os.O_WRONLY) for file in files]  # waits until they are being read
        for pid in processes.children():
            if b"nccltool.triage.parallel_reader" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        for file, writer in zip(files, writers, strict=True):
            Path(file).write_text("h1:10:20 [0] NCCL WARN Call to posix_fallocate failed\n")
            os.close(writer)

    killer = threading.Thread(target=kill_and_write)
    killer.start()
    found, lines = read(files, 2)
    killer.join()
    kinds = ("shm.segment", WORDS)
    assert [(event.file, event.kind) for event in found] == [(file, kind) for file in files for kind in kinds]
    assert lines == 2


def test_without_room_for_temporary_files_it_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = logs(tmp_path)
    one = read(files, 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert read(files, 2) == one


def test_nothing_is_left_when_nobody_listens_any_more(tmp_path: Path) -> None:
    found = parallel_reader.events(logs(tmp_path, repeats=200), LogReader(), 2)
    next(found)
    assert not no_reader_is_left()
    found.close()  # type: ignore[attr-defined]
    assert no_reader_is_left()
