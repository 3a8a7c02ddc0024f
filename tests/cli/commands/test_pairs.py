"""nccltool pairs: what it refuses before anything starts."""

from pathlib import Path

import pytest

from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nodes", "1"), "Error: 1 node cannot form a pair\n"),
        (("--nodes", "4", "--groups", "1"), "Error: --groups 1: expected "),
        (("--nodes", "4", "--topology", "/none"), "Error: --topology /none"),
        (("--nodes", "4", "--write-exclude", "/none/list"), "Error: --write-exclude /none/list cannot be written"),
        (("--nodes", "4", "--plot", "heat.txt"), "Error: --plot heat.txt"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    words: tuple[str, ...], said: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    ended = nccltool("pairs", *words, "--run-dir", str(tmp_path / "runs"))
    assert ended.code == 2
    assert ended.err.startswith(said), ended.err
    assert not (tmp_path / "runs").exists()
