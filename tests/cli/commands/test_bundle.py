"""nccltool bundle."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize("name", ["", "notes.txt"])
def test_a_bundle_takes_no_folder_that_is_not_of_a_run(name: str, tmp_path: Path, nccltool: Nccltool) -> None:
    (tmp_path / "notes.txt").touch()
    said = nccltool("bundle", str(tmp_path / name), "--output", str(tmp_path / "b.tar.gz"))
    assert (said.code, "is not a run" in said.err) == (2, True)
    assert not (tmp_path / "b.tar.gz").exists()


def test_a_dash_is_standard_output(tmp_path: Path, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written: list[bytes] = []
    monkeypatch.setattr("nccltool.cli.outlet.put", written.append)
    said = nccltool("bundle", "--output", "-", "--run-dir", str(tmp_path / "none"), "--quiet")
    assert (said.code, said.out, list(tmp_path.iterdir())) == (0, "", [])
    with tarfile.open(fileobj=io.BytesIO(written[0])) as archive:
        assert any(name.endswith("/manifest.json") for name in archive.getnames())
    refused = nccltool("bundle", "--output", "-", "--format", "json", "--run-dir", str(tmp_path / "none"))
    assert refused.code == 2
    assert "would both go to standard output" in refused.err
