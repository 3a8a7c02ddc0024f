"""Suites and platforms: shown, copied, validated."""

from pathlib import Path

import pytest

from nccltool.preflight import suite_reader
from tests.conftest import Nccltool


@pytest.mark.parametrize("name", [file.stem for file in suite_reader.files()])
def test_everything_can_be_shown(name: str, nccltool: Nccltool) -> None:
    said = nccltool("checks", "show", name)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{name}: ")
    assert said.out.count("source: ") == said.out.count("expects ")


def test_a_number_is_shown_with_all_that_is_known_of_it(nccltool: Nccltool) -> None:
    text = nccltool("checks", "show", "oci-h100").out
    assert "expects busbw at least 382 GB/s: all_reduce, at 1 GiB, on nccl, over 2 nodes\n" in text
    assert (
        "Troubleshooting.md; 2 x BM.GPU.H100.8, 16 ranks, nccl-tests; 2026-05-19; not verified by nccltool\n"
        in text
    )


def test_copy_and_validate(nccltool: Nccltool, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    assert nccltool("checks", "copy", "preflight", str(mine)).out == f"{mine}\n"
    assert nccltool("checks", "validate", str(mine)).out == "1 file, no mistakes\n"
    mine.write_text(mine.read_text().replace("[across]", "[acros]").replace("schema = 1", "schema = true"))
    said = nccltool("checks", "validate", str(mine))
    assert said.code == 1
    lines = said.out.splitlines()
    assert len(lines) == 4  # [acros] and its expectations are nowhere
    assert lines[0].endswith(" schema must be a whole number from 1 to 1, not True")
    assert any(line.endswith(": unknown key acros; did you mean across?") for line in lines)


def test_nothing_is_written_over(nccltool: Nccltool, tmp_path: Path) -> None:
    mine = tmp_path / "smoke.toml"
    mine.write_text("mine")
    said = nccltool("checks", "copy", "smoke", str(tmp_path))
    assert (said.code, mine.read_text()) == (2, "mine")
    assert f"{mine} already exists" in said.err
    assert nccltool("checks", "copy", "smoke", str(tmp_path), "--force").code == 0
    assert mine.read_text() != "mine"
