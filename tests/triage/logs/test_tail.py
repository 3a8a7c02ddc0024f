"""Logs that grow: pieces of lines, rotation, truncation, who writes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.triage.judge import judge
from nccltool.triage.logs import tail
from nccltool.triage.logs.line_decoder import LONGEST_LINE
from nccltool.triage.logs.reader import IncrementalLogReader, LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from tests.incidents import INCIDENTS


@given(st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"a", b"\n")), max_size=12))
def test_lines_come_whole(pieces: list[bytes]) -> None:
    log = tail.LineBuffer("x")
    whole = [log.take(piece) for piece in pieces]
    assert all(not lines or lines.endswith(b"\n") for lines in whole)
    assert b"".join(whole) + log.rest == b"".join(pieces)
    assert b"\n" not in log.rest


def test_a_line_without_an_end_takes_bounded_memory() -> None:
    log = tail.LineBuffer("x")
    for _ in range(100):
        assert log.take(b"x" * LONGEST_LINE) == b""
    assert len(log.rest) <= LONGEST_LINE


@given(st.sampled_from(INCIDENTS), st.lists(st.integers(1, 400), min_size=1, max_size=30), st.booleans())
def test_what_comes_in_pieces_says_the_same(incident: object, sizes: list[int], asks_often: bool) -> None:
    data = incident.log.encode()  # type: ignore[attr-defined]
    at_once, in_pieces = TimelineBuilder(), TimelineBuilder()
    for event in LogReader().read("x", [data]):
        at_once.add(event)
    log, reader, start = tail.LineBuffer("x"), IncrementalLogReader("x"), 0
    while start < len(data):
        size = sizes[start % len(sizes)]
        if whole := log.take(data[start : start + size]):
            for event in reader.read(whole):
                in_pieces.add(event)
        for event in reader.counted() if asks_often else ():
            in_pieces.add(event)
        start += size
    for event in (*(reader.read(log.rest) if log.rest else ()), *reader.counted()):
        in_pieces.add(event)
    assert reader.lines_read == data.count(b"\n") + (not data.endswith(b"\n"))
    one, other = at_once.timeline(reader.lines_read), in_pieces.timeline(reader.lines_read)
    assert (one.events, one.hosts, one.counts) == (other.events, other.hosts, other.counts)
    assert judge(one) == judge(other)


def test_the_beginning_of_a_line_is_not_remembered() -> None:
    reader = IncrementalLogReader("x")
    list(reader.read(b"one\n"))
    part = b"[rank1]: ValueError: no such fi"
    assert [(event.kind, event.line) for event in reader.of_a_part(part)] == [("app.exception", 2)]
    assert reader.lines_read == 1
    assert [event.line for event in reader.read(part + b"le\n")] == [2]


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"two\n")


def renamed(path: Path) -> None:
    path.rename(f"{path}.1")
    path.write_bytes(b"new\n")


def cut_off(path: Path) -> None:
    path.write_bytes(b"n\n")


def cut_off_and_grown(path: Path) -> None:
    path.write_bytes(b"another beginning that is longer\n")


def taken_away(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("change", "text", "name"),
    [
        (grown, b"two\n", "job.log"),
        (renamed, b"new\n", "job.log (2)"),
        (cut_off, b"n\n", "job.log (2)"),
        (cut_off_and_grown, b"another beginning that is longer\n", "job.log (2)"),
        (taken_away, b"", "job.log"),
    ],
)
def test_a_file_that_changes(change: Callable[[Path], None], text: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    file = tail.TailedFile(str(path))
    assert file.read() == b""
    path.write_bytes(b"one\nrest")
    assert file.read() == b"one\nrest"
    file.log.take(b"one\nrest")
    change(path)
    ended = [file.before for _ in range(3) if file.read() == text or file.before]
    assert file.log.name == f"{tmp_path}/{name}"
    assert [log.rest for log in ended if log] == ([b"rest"] if name.endswith("(2)") else [])
    file.close()


def test_what_was_written_before_a_rotation_is_read(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"one\n")
    file = tail.TailedFile(str(path))
    file.read()
    with path.open("ab") as old:
        renamed(path)
        old.write(b"last\n")
    assert [piece for _ in range(4) if (piece := file.read())] == [b"last\n", b"new\n"]
    file.close()


@given(st.lists(st.tuples(st.sampled_from("aaart"), st.integers(1, 300)), max_size=8))
def test_whatever_is_done_to_a_file_all_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """Appended, rotated, truncated: each time it is read before the next."""
    path = tmp_path_factory.mktemp("logs") / "job.log"
    file, came, written, logs = tail.TailedFile(str(path)), b"", b"", 1
    for number, (step, size) in enumerate(steps):
        text = f"{number} {'x' * size}\n".encode()
        if step == "r" and path.exists():
            path.rename(f"{path}.{number}")
        logs += step in "rt" and number > 0
        with path.open("wb" if step == "t" else "ab") as opened:
            opened.write(text)
        written += text
        came += b"".join(file.read() for _ in range(4))
    assert came == written
    assert file.log.name == (f"{path} ({logs})" if logs > 1 else str(path))
    file.close()


@given(st.binary(max_size=300))
def test_any_bytes_can_be_the_beginning_of_a_line(part: bytes) -> None:
    for event in IncrementalLogReader("x").of_a_part(part.replace(b"\n", b"")):
        assert event.text.isprintable()


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        tail.TailedFile(str(tmp_path)).read()


@pytest.mark.parametrize(("mode", "writes"), [("ab", True), ("r+b", True), ("rb", False)])
def test_who_writes_a_file_is_seen(mode: str, writes: bool, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"")
    assert not tail.has_writer(frozenset({str(path)}))
    with path.open(mode):
        assert tail.has_writer(frozenset({str(path)})) == writes


def test_standard_input_that_is_a_file_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.log").write_text("x")
    with (tmp_path / "job.log").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert not tail.input_is_live()
    reading, writing = os.pipe()
    with os.fdopen(reading) as pipe, os.fdopen(writing, "w"):
        monkeypatch.setattr("sys.stdin", pipe)
        assert tail.input_is_live()


def test_a_process_that_ends_while_its_files_are_listed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "1"
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: [gone, Path(f"/proc/{os.getpid()}")])
    path = tmp_path / "job.log"
    with path.open("w"):
        assert tail.has_writer(frozenset({str(path)}))
