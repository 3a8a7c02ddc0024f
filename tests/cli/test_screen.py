"""What a command that starts ranks shows at its end, and where no result is to be shown."""

from pathlib import Path

import pytest

from nccltool.cli import screen
from nccltool.core.errors import ResultNotWritten
from nccltool.localize.accusations import localized
from tests.cli.commands.test_probe import COMMAND, DIED, GOOD, HELLO
from tests.cli.conftest import Act
from tests.conftest import Nccltool
from tests.support.pairs import FOUND_106, OF_106, info, localization, met


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


def test_a_picture_of_no_pairs_hides_no_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who ended the run says the exit code; without such a reason, the picture is missing."""
    file = tmp_path / "p.svg"
    nothing = localization(scope="unknown")
    screen.draw(localized(info(), [met("a", "b", None)], nothing, interrupted=True), str(file))
    assert "was not drawn: the run ended before pairs could be compared" in capsys.readouterr().err
    with pytest.raises(ResultNotWritten, match="was not drawn"):
        screen.draw(localized(info(), [met("a", "b", None)], nothing), str(file))
    assert not file.exists()


def test_a_picture_whose_folder_is_gone_after_the_work(tmp_path: Path) -> None:
    with pytest.raises(ResultNotWritten, match="cannot be written: No such file") as error:
        screen.draw(localized(info(), OF_106, FOUND_106), str(tmp_path / "gone/p.svg"))
    assert "nccltool runs RUN --plot FILE" in error.value.remedy
