"""Shares of destinations, against numbers worked out by hand."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe import skews


@pytest.mark.parametrize(
    ("word", "shares"),
    [
        ("uniform", (1, 1, 1, 1)),
        ("zipf:1", (1, 1 / 2, 1 / 3, 1 / 4)),
        ("zipf:2", (1, 1 / 4, 1 / 9, 1 / 16)),
        ("one-hot", (1, 0, 0, 0)),
    ],
)
def test_shares(word: str, shares: tuple[float, ...]) -> None:
    assert skews.parse(word).shares(4) == pytest.approx(shares)


@pytest.mark.parametrize("word", ["zipf:1.10", "zipf:1.1", "zipf:11e-1"])
def test_one_skew_has_one_name(word: str) -> None:
    assert skews.parse(word).word == "zipf:1.1"


@pytest.mark.parametrize(
    "word", ["", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:11", "x"]
)
def test_what_is_no_skew(word: str) -> None:
    with pytest.raises(BadInput):
        skews.parse(word)
