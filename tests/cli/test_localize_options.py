"""The list of nodes to avoid, as commands write it."""

from pathlib import Path

import pytest

from nccltool.cli import localize_options
from nccltool.core.errors import BadInput, ResultNotWritten
from nccltool.localize.accusations import localized
from tests.support.pairs import FOUND_106, OF_106, info


def test_it_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    run, file = localized(info(), OF_106, FOUND_106), tmp_path / "exclude"
    localize_options.ready_to_exclude(str(file))
    localize_options.exclude(run, None)
    assert not file.exists()
    localize_options.exclude(run, str(file))
    assert file.read_text() == "644\n"


def test_what_cannot_be_written_is_known_before() -> None:
    with pytest.raises(BadInput, match="--write-exclude /nowhere/x cannot be written"):
        localize_options.ready_to_exclude("/nowhere/x")


def test_a_folder_that_is_gone_after_the_work_is_no_wrong_word(tmp_path: Path) -> None:
    with pytest.raises(ResultNotWritten, match=r"--write-exclude .* cannot be written: No such file") as error:
        localize_options.exclude(localized(info(), OF_106, FOUND_106), str(tmp_path / "gone/list"))
    assert "without measuring again: nccltool localize RUN" in error.value.remedy
