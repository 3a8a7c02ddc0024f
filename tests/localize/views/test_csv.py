"""A localization as csv."""

import pytest

from nccltool.interop.pair_inputs import csv_rows
from nccltool.localize.accusations import localized
from nccltool.localize.views import csv
from tests.support.pairs import FOUND_106, OF_106, info, met


@pytest.mark.parametrize(
    "encounters",
    [
        OF_106,
        (met("a", "b", 3.5, 1, rail="mlx5_0"), met("a", "c", None, 2, reason="it hung")),
        (met("a", "b", 3.5, is_directed=True), met("b", "a", 3.5, is_directed=True)),
    ],
)
def test_it_is_read_again(encounters: tuple[object, ...]) -> None:
    text = csv.render(localized(info(), encounters, FOUND_106))  # type: ignore[arg-type]
    assert csv_rows.read(text, "p.csv").encounters == encounters
