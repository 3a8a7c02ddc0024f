"""The picture of the matrix."""

import pytest

from nccltool.core.errors import ResultNotWritten
from nccltool.localize import heat_chart
from nccltool.localize.accusations import localized
from tests.support.pairs import FOUND_106, OF_106, info, met


def test_colors_and_names_are_in_it() -> None:
    picture = heat_chart.drawn(localized(info(), OF_106, FOUND_106), "p.svg").decode()
    assert picture.count("#d7301f") == 2 * 3 + 1  # three slow pairs, both ways, and the scale
    assert picture.count("#2c7fb8") == 2 * 2 + 1
    assert ">644<" in picture
    assert "share of the healthy speed" in picture


def test_many_nodes_fit() -> None:
    pairs = [met(f"<n{number}>", f"<n{number + 1}>", 370.0) for number in range(300)]
    picture = heat_chart.drawn(localized(info(), pairs, FOUND_106), "p.svg").decode()
    assert "<n1>" not in picture
    assert "and 205 faster nodes" in picture


def test_nothing_to_draw() -> None:
    run = localized(info(), [met("a", "b", None)], FOUND_106)
    assert not heat_chart.is_drawable(run)
    with pytest.raises(ResultNotWritten, match="no measured pair") as error:
        heat_chart.drawn(run, "p.svg")
    assert "--expect" in error.value.remedy
