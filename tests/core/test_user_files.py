import os
import threading
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.core.user_files import contents


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
