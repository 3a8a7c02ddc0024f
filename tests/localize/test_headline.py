"""A localization in one line."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Subject
from nccltool.launch.finding_kinds import RANK_DIED
from nccltool.localize.accusations import localized
from nccltool.localize.headline import headline, noise_line, unseen_line
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import Localization
from tests.support.pairs import FOUND_106, OF_106, info, localization, met, suspect

HEALTHY = localization(scope="nothing-slow")
TRIANGLE = (met("a", "b", 200.0), met("b", "c", 200.0), met("a", "c", 200.0))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND_106, "suspect node 644; 1 slow pair unexplained"),
        (localization(scope="nothing-slow"), "nothing slow found on 5 of 21 links"),
        (localization(scope="unknown"), "too few measurements for a verdict"),
        (localization(scope="fabric-wide"), "slow across the fabric; no node is named"),
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
    assert (
        headline(stopped)
        == "pairs: interrupted; nothing slow found on 1 of 6 links so far; 1 measurement of 4 nodes"
    )
    died = RANK_DIED.finding(subject=Subject(kind="rank", name="3"), message="rank 3 died")
    run = localized(four, OF_106[:1], healthy, kind="pairs", others=(died,))
    expected = (
        "pairs: rank-died, suspect: rank 3; nothing slow found on 1 of 6 links so far; 1 measurement of 4 nodes"
    )
    assert headline(run) == expected


def test_groups_and_what_has_no_result() -> None:
    doubtful = localization(scope="undetermined", undetermined=(("a", "b", "c"), ("a", "b", "d")))
    assert "; 2 slow groups unexplained; " in f"; {headline(localized(info(), (), doubtful)).partition(': ')[2]}"
    silent = localization(scope="undetermined", undetermined=(("a", "b"),))
    text = headline(localized(info(), (met("a", "b", None),), silent))
    assert text == "localize: 1 pair without a result; 1 measurement of 2 nodes"


def test_the_noise() -> None:
    shown = "noise 1.3 %; smallest fault that these measurements could have shown: 10 %"
    assert noise_line(localized(info(), OF_106, FOUND_106)) == f"{shown}; 5 of 21 links measured"
    assert noise_line(localized(info(), (), FOUND_106)) == shown
    unknown = localization(scope="unknown", noise=None)
    one = "noise unknown: too few measurements; the only link measured"
    assert noise_line(localized(info(), OF_106[:1], unknown)) == one


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            localized(replace(info(), nodes=64), OF_106, HEALTHY),
            "2011 links were not measured and may be slow: {}",
        ),
        (localized(info(), TRIANGLE[:2], HEALTHY), "1 link was not measured and may be slow: {}"),
        (localized(info(), TRIANGLE, HEALTHY), None),
        (localized(info(), (), HEALTHY), None),
        (localized(info(), OF_106, FOUND_106), None),
    ],
)
def test_a_link_that_nobody_measured_may_be_slow(run: LocalizedRun, expected: str | None) -> None:
    remedy = "nccltool pairs --all-pairs measures every link"
    assert unseen_line(run) == (expected and expected.format(remedy))


def test_links_within_nodes() -> None:
    pairs = [met("a/0", "a/1", 200.0), met("a/1", "a/2", 200.0), met("b/0", "b/1", 200.0)]
    run = localized(info(), pairs, HEALTHY, is_within=True)
    assert headline(run) == "localize: nothing slow found on 3 of 4 links; 3 measurements of 5 ranks"
    assert "nccltool pairs --within --all-pairs" in (unseen_line(run) or "")


def test_ranks_are_no_nodes() -> None:
    run = localized(replace(info(), nodes=40), OF_106, localization(suspect("node", "644")), is_within=True)
    assert headline(run) == "localize: suspect rank 644; 5 measurements of 7 ranks"
