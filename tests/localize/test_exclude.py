"""The list for srun --exclude."""

from nccltool.localize import exclude
from tests.support.pairs import FOUND_106, localization, suspect


def test_names_are_folded() -> None:
    found = localization(*(suspect("node", f"n{number:02}") for number in (3, 1, 2)), suspect("link", "a", "b"))
    assert exclude.text(found) == "n[01-03]\n"
    assert exclude.text(FOUND_106) == "644\n"
    assert exclude.text(localization(scope="nothing-slow")) == ""
