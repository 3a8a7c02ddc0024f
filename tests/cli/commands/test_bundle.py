"""nccltool bundle."""

from pathlib import Path

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize("name", ["", "notes.txt"])
def test_a_bundle_takes_no_folder_that_is_not_of_a_run(name: str, tmp_path: Path, nccltool: Nccltool) -> None:
    (tmp_path / "notes.txt").touch()
    said = nccltool("bundle", str(tmp_path / name), "--output", str(tmp_path / "b.tar.gz"))
    assert (said.code, "is not a run" in said.err) == (2, True)
    assert not (tmp_path / "b.tar.gz").exists()
