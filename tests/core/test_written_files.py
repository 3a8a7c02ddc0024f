"""Files that are written whole, and never through a link."""

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nccltool.core import written_files


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("old")
    written_files.put(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["result.json"]


def test_when_writing_fails_the_old_file_remains(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("old")
    with pytest.raises(RuntimeError), written_files.replacing(file) as out:
        out.write(b"half of")
        raise RuntimeError
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.parametrize("write", [written_files.put, written_files.replace])
def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(
    write: Callable[[Path, bytes], None], tmp_path: Path
) -> None:
    victim, link = tmp_path / "victim", tmp_path / "bundle.tar.gz"
    victim.write_text("precious")
    link.symlink_to(victim)
    write(link, b"new")
    assert victim.read_text() == "precious"
    assert link.read_bytes() == b"new"
    assert not link.is_symlink()


def test_a_private_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        written_files.replace(tmp_path / "secret", b"x", written_files.PRIVATE)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_long_name_has_room_for_the_one_beside_it(tmp_path: Path) -> None:
    file = tmp_path / ("\N{SNOWMAN}" * 80)
    written_files.check(file)
    written_files.put(file, b"x")
    assert file.read_bytes() == b"x"


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    written_files.check(file)
    assert not file.exists()
    file.write_text("old")
    written_files.check(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("no/result", errno.ENOENT),
        ("file/result", errno.ENOTDIR),
        (".", errno.EISDIR),
        ("x" * 300, errno.ENAMETOOLONG),
    ],
    ids=["no folder", "under a file", "a folder", "a name that is too long"],
)
@pytest.mark.parametrize(
    "do", [written_files.check, lambda path: written_files.put(path, b"x")], ids=["check", "put"]
)
def test_a_name_that_cannot_be_written(do: Callable[[Path], None], name: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=os.strerror(number)):
        do(tmp_path / name)


def test_a_pipe_gets_the_bytes(tmp_path: Path) -> None:
    pipe, said = tmp_path / "pipe", []
    os.mkfifo(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    reader = threading.Thread(target=lambda: said.append(os.read(handle, 100)))
    written_files.check(pipe)
    written_files.put(pipe, b"through")
    reader.start()
    reader.join(10)
    os.close(handle)
    assert said == [b"through"]


def test_a_pipe_that_nobody_reads_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
        written_files.put(tmp_path / "pipe", b"x")


def test_an_open_file_is_written_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "said"
    handle = os.open(file, os.O_WRONLY | os.O_CREAT)
    try:
        written_files.put(Path(f"/dev/fd/{handle}"), b"x")
        assert os.fstat(handle).st_ino == file.stat().st_ino
    finally:
        os.close(handle)
    assert file.read_bytes() == b"x"


def test_a_full_device() -> None:
    written_files.check(Path("/dev/full"))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        written_files.put(Path("/dev/full"), b"x")


def test_a_pipe_or_device_is_never_replaced(tmp_path: Path) -> None:
    """Root could put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError, match="Is a device, pipe, or socket"):
        written_files.replace(pipe, b"x")
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]
    assert pipe.is_fifo()
