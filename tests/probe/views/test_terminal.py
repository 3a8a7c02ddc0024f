"""What hosts and ranks say is shown, and nothing of it steers the terminal."""

from dataclasses import replace

import pytest

from nccltool.probe import views
from tests.samples import finding, good_run

NASTY = "\x1b]0;owned\x07\x1b[2J\x9bok\u202e"


@pytest.mark.parametrize("where", ["message", "evidence", "remedy"])
def test_control_characters_are_escapes(where: str) -> None:
    nasty = finding(**{where: (NASTY, f"one\n{NASTY}") if where == "evidence" else NASTY})
    text = views.renderer("table")(replace(good_run(), findings=(nasty,)))
    assert "\\x1b]0;owned\\x07\\x1b[2J\\x9bok\\u202e" in text
    assert {letter for letter in text if not letter.isprintable()} == {"\n"}


def test_names_of_hosts_too() -> None:
    shown = good_run()
    text = views.renderer("table")(replace(shown, info=replace(shown.info, hosts=(NASTY,))))
    assert {letter for letter in text if not letter.isprintable()} == {"\n"}
