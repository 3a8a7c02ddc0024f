"""A localization in one line."""

import pytest

from nccltool.localize.accusations import localized
from nccltool.localize.headline import headline, noise_line
from nccltool.localize.result import Localization
from tests.support.pairs import FOUND_106, OF_106, info, localization, suspect


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND_106, "suspect node 644; 1 slow pair unexplained"),
        (localization(scope="nothing-slow"), "nothing slow found"),
        (localization(scope="unknown"), "too few measurements for a verdict"),
        (localization(scope="fabric-wide"), "slow across the fabric, nobody is accused"),
        (localization(scope="undetermined", undetermined=(("a", "b"),)), "1 slow pair unexplained"),
        (
            localization(*(suspect("node", name) for name in "abcde")),
            "suspect node a, node b, node c and 2 more",
        ),
    ],
)
def test_the_verdict(found: Localization, expected: str) -> None:
    assert headline(localized(info(), OF_106, found)) == f"localize: {expected}; 5 measurements of 7 nodes"


def test_the_noise() -> None:
    assert noise_line(FOUND_106) == "noise 1.3 %; smallest fault that these measurements could have shown: 10 %"
    assert noise_line(localization(noise=None)) == "noise unknown: too few measurements"
