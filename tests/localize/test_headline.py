"""A localization in one line."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Subject
from nccltool.launch.finding_kinds import RANK_DIED
from nccltool.localize.accusations import localized
from nccltool.localize.headline import headline, noise_line
from nccltool.localize.result import Localization
from tests.support.pairs import FOUND_106, OF_106, info, localization, met, suspect


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


def test_an_end_before_its_time_comes_first() -> None:
    healthy = localization(scope="nothing-slow")
    four = replace(info(), nodes=4)
    stopped = localized(four, (), localization(scope="unknown"), kind="pairs", interrupted=True)
    assert headline(stopped) == "pairs: interrupted; too few measurements for a verdict; 0 measurements of 4 nodes"
    stopped = localized(four, OF_106[:1], healthy, kind="pairs", interrupted=True)
    assert headline(stopped) == "pairs: interrupted; nothing slow found so far; 1 measurement of 4 nodes"
    died = RANK_DIED.finding(subject=Subject(kind="rank", name="3"), message="rank 3 died")
    run = localized(four, OF_106[:1], healthy, kind="pairs", others=(died,))
    expected = "pairs: rank-died, suspect: rank 3; nothing slow found so far; 1 measurement of 4 nodes"
    assert headline(run) == expected


def test_groups_and_what_has_no_result() -> None:
    doubtful = localization(scope="undetermined", undetermined=(("a", "b", "c"), ("a", "b", "d")))
    assert "; 2 slow groups unexplained; " in f"; {headline(localized(info(), (), doubtful)).partition(': ')[2]}"
    silent = localization(scope="undetermined", undetermined=(("a", "b"),))
    text = headline(localized(info(), (met("a", "b", None),), silent))
    assert text == "localize: 1 pair without a result; 1 measurement of 2 nodes"


def test_the_noise() -> None:
    assert noise_line(FOUND_106) == "noise 1.3 %; smallest fault that these measurements could have shown: 10 %"
    assert noise_line(localization(noise=None)) == "noise unknown: too few measurements"


def test_ranks_are_no_nodes() -> None:
    run = localized(replace(info(), nodes=40), OF_106, localization(suspect("node", "644")), is_within=True)
    assert headline(run) == "localize: suspect rank 644; 5 measurements of 7 ranks"
