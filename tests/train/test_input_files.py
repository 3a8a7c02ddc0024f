"""What counts as a file to train with."""

from pathlib import Path

import pytest

from nccltool.train import input_files


def test_files_and_their_whole_sequences(tmp_path: Path) -> None:
    for name, size in (("b", 20), ("a", 7), (".hidden", 80)):
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "folder").mkdir()
    files = input_files.found(tmp_path, 8)
    assert files == ((tmp_path / "a", 7), (tmp_path / "b", 20))
    assert input_files.sequences(files, 8) == [0, 2]


def test_more_files_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "_MOST_FILES", 1)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(8))
    with pytest.raises(input_files.NoInput, match="has 2 files; 1 can be read"):
        input_files.found(tmp_path, 8)
