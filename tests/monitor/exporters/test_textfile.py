"""The file of the textfile collector."""

import os
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.monitor.exporters import textfile
from nccltool.monitor.metrics import Sample

SAMPLES = (Sample("suspect", ("alpha",), 1),)


def test_it_is_replaced_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "nccltool.prom"
    file.write_text("old\n")
    with file.open() as reader:
        textfile.Destination(str(file)).hand_over((), lambda _: SAMPLES)
        assert reader.read() == "old\n"  # a scrape that had begun reads the old one to its end
    assert 'nccltool_suspect{host="alpha"} 1.0' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o644  # whatever the umask: the collector is another user
    assert [entry.name for entry in tmp_path.iterdir()] == ["nccltool.prom"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nccltool.txt", "reads only .prom files"),
        ("nccltool", "reads only .prom files"),
        ("missing/nccltool.prom", "cannot be written: No such file or directory"),
        ("file/nccltool.prom", "cannot be written: Not a directory"),
        ("folder.prom", "cannot be written: Is a directory"),
    ],
)
def test_what_it_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.prom").mkdir()
    with pytest.raises(BadInput, match=message):
        textfile.Destination(str(tmp_path / name)).hand_over((), lambda _: SAMPLES)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.prom"]
