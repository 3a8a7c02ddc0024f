"""A comparison in every format."""

from pathlib import Path

import pytest

from tests.cli.test_compare import kept
from tests.conftest import Nccltool


@pytest.mark.parametrize("form", ["csv", "markdown", "table"])
def test_formats(nccltool: Nccltool, form: str, tmp_path: Path) -> None:
    a, b = kept(1), kept(2, 1.2)
    said = nccltool("compare", a, b, "--format", form)
    assert said.code == 1
    assert said.out.count("all_reduce") >= 2
    assert nccltool("compare", a, b, "--format", form, "--output", str(tmp_path / "x")).out == ""
    assert (tmp_path / "x").read_text() == said.out
