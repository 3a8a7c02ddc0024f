import io
import os
import threading
from pathlib import Path

import pytest

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.user_files import contents, opened


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\0\xff" * 200_000)
    assert contents(file, "--facts") == b"\0\xff" * 200_000


def test_a_pipe_with_a_slow_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"A=1\n",))
    writer.start()
    assert contents(pipe, "--env-file", silence_s=30.0) == b"A=1\n"
    writer.join()


def test_a_pipe_without_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BadInput) as error:
        contents(pipe, "--env-file", silence_s=0.05)
    assert error.value.message == f"--env-file {pipe}: no data within 0.05 s"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", " cannot be read: No such file or directory"),
        ("circle", " cannot be read: Too many levels of symbolic links"),
        (".", " cannot be read: Is a directory"),
        ("/dev/zero", " is larger than 1 KiB"),
    ],
)
def test_what_cannot_be_read(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(BadInput) as error:
        contents(tmp_path / name, "--facts", largest=1024)
    assert error.value.message == f"--facts {tmp_path / name}{why}"


def test_a_name_without_letters_is_seen() -> None:
    with pytest.raises(BadInput, match=r"^'' cannot be read: No such file or directory$"):
        contents("")


def test_a_file_is_opened_to_be_read_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with opened(tmp_path / "file") as file:
        assert (file.read(2), file.read(2), file.read(2)) == (b"ab", b"c", b"")


def test_what_is_not_opened_to_be_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "SILENCE_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match=r"no data within 0\.05 s"):
        opened(tmp_path / "pipe")
    with pytest.raises(BadInput, match="/dev/zero is a device"):
        opened("/dev/zero")


def test_a_pipe_is_opened_when_it_has_data(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"A=1\n",))
    writer.start()
    with opened(pipe) as file:
        assert file.read() == b"A=1\n"
    writer.join()


def test_standard_input_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 11)))
    with pytest.raises(BadInput, match="standard input is larger than 10 B"):
        user_files.standard_input(largest=10)
