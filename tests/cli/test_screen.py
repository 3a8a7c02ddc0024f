"""What a command that starts ranks shows at its end, and where no result is to be shown."""

from pathlib import Path

from tests.cli.commands.test_probe import COMMAND, DIED, GOOD, HELLO
from tests.cli.conftest import Act
from tests.conftest import Nccltool


def test_interrupted_is_said_first(act: Act, nccltool: Nccltool) -> None:
    act(GOOD[:7], interrupted=True)
    said = nccltool(*COMMAND)
    assert said.code == 130
    assert said.out.startswith("INCOMPLETE interrupted: 1 of 2 rows: all_reduce, 1 KiB; peak busbw ")


def test_a_command_whose_rank_0_is_elsewhere_shows_only_what_went_wrong(
    tmp_path: Path, act: Act, nccltool: Nccltool
) -> None:
    words = (*COMMAND, "--node-rank", "1", "--rdzv-endpoint", "alpha:29500", "--output", str(tmp_path / "out"))
    act(HELLO[1:])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (0, "", "")
    act(HELLO[1:], [DIED])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (3, "", f"ERROR rank-died: {DIED.message}\n")
    assert not (tmp_path / "out").exists()
