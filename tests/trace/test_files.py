"""Files and folders of traces: packed, cut, damaged, and no traces."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.trace.files import TraceFile, found

TEXT = b'{"traceEvents": []}' * 5000


def test_a_folder_has_its_traces(tmp_path: Path) -> None:
    for name in ("b.json", "a.pt.trace.json.gz", "deep/c.json.zst", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in found([str(tmp_path), str(tmp_path / "b.json")])] == [
        "a.pt.trace.json.gz",
        "b.json",
        "c.json.zst",
    ]


@pytest.mark.parametrize("path", ["", "empty"])
def test_nothing_to_read(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput):
        found([path])


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read all: what the system would say is said here."""

    def refused(_folder: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(BadInput) as error:
        found([str(tmp_path)])
    assert error.value.message == f"{tmp_path} cannot be read: Permission denied"


def test_packed_and_cut(tmp_path: Path) -> None:
    file = tmp_path / "a.json.gz"
    file.write_bytes(gzip.compress(TEXT))
    whole = TraceFile(file)
    assert (b"".join(whole.pieces()), whole.damage) == (TEXT, "")
    file.write_bytes(gzip.compress(os.urandom(5000))[:-20])
    cut = TraceFile(file)
    assert len(b"".join(cut.pieces())) > 4000
    assert cut.damage == "its gzip data ends early"
    file.write_bytes(gzip.compress(TEXT)[:15] + b"\xff" * 40)
    damaged = TraceFile(file)
    list(damaged.pieces())
    assert damaged.damage.startswith("its gzip data is damaged")


@pytest.mark.parametrize("name", ["missing.json", "/dev/zero", "a\0b"])
def test_what_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        list(TraceFile(tmp_path / name).pieces())
