"""The ticks of a watch, with a looker that is written down."""

import pytest

from nccltool.attach.run import RanksGone
from nccltool.attach.watch.budget import SHARE
from nccltool.attach.watch.loop import JobWatch, WatchTick
from nccltool.core.errors import NotJudged
from tests.attach.judge.looks import COMPUTES, SLEEPS, R
from tests.attach.watch.fakes import FakeLooker

MOVES = R(switches=3000, idle_s=0.01)
WORKS = R(stack=COMPUTES, state="R", cpu=1.0, switches=3000, idle_s=0.01)
GOOD = (MOVES, MOVES, MOVES)
HANGS = (R(), R(stack=SLEEPS), R())
ONLY_SEEMS_STILL = (R(switches=0, idle_s=0.01, stack=COMPUTES, state="R", cpu=1.0),) * 3


def _watched(looker: FakeLooker, count: int) -> list[WatchTick]:
    watch = JobWatch(looker=looker, command=("nccltool", "attach"), every_s=looker.every_s)
    return [watch.tick(looker.every_s * number) for number in range(count)]


def test_a_hang_is_one_alert() -> None:
    looker = FakeLooker([GOOD, GOOD, HANGS, HANGS, HANGS, HANGS, GOOD, GOOD, GOOD])
    ticks = _watched(looker, 9)
    assert [one.state for one in ticks] == ["healthy"] * 2 + ["hung"] * 4 + ["healthy"] * 3
    assert [one.event for one in ticks] == ["", "", "opened", "", "", "", "", "closed", ""]
    report = ticks[2].report
    assert report is not None
    assert [(one.cause, one.rank) for one in report.answer.culprits] == [("own-code", 1)]
    assert [one for one in looker.looks if one[1] == 2] == [(0, 2), (2, 2), (6, 2)]


def test_a_healthy_job_costs_no_more_than_its_share() -> None:
    looker = FakeLooker([GOOD])
    ticks = _watched(looker, 400)
    assert {one.state for one in ticks} == {"healthy"}
    assert ticks[-1].cost is not None
    assert ticks[-1].cost <= SHARE
    assert len(looker.looks) > 40  # who is last is looked for with what is left


def test_a_straggler_is_found_over_many_looks() -> None:
    looker = FakeLooker([(MOVES, WORKS, MOVES)])
    ticks = _watched(looker, 400)
    alerts = [one for one in ticks if one.event == "opened"]
    assert len(alerts) == 1
    assert alerts[0].message == "slow: rank 1 is last again and again"
    report = ticks[-1].report
    assert report is not None
    assert [(one.cause, one.rank, one.level) for one in report.answer.culprits] == [("straggler", 1, "high")]
    assert report.answer.slow is not None
    assert report.answer.slow.rank == 1


def test_a_job_that_only_seems_still_is_looked_at_less_and_less() -> None:
    flaps = [ONLY_SEEMS_STILL if number % 2 else GOOD for number in range(100)]
    looker = FakeLooker(flaps)
    ticks = _watched(looker, 100)
    assert not [one for one in ticks if one.event]
    assert len([1 for _, samples in looker.looks if samples == 2]) < 10


def test_ranks_that_are_gone_and_come_again() -> None:
    looker = FakeLooker([GOOD, None, None, GOOD])
    ticks = _watched(looker, 4)
    assert [one.state for one in ticks] == ["healthy", "unknown", "unknown", "healthy"]
    assert ticks[1].message == "unknown: no rank was seen: host n1: no rank runs here"


@pytest.mark.parametrize(
    ("error", "event"),
    [(RanksGone("no rank was seen", "r"), "closed"), (NotJudged("n1: timed out", "r"), "")],
)
def test_an_incident_ends_with_its_job(error: NotJudged, event: str) -> None:
    """A host that does not answer ends none."""
    ticks = _watched(FakeLooker([HANGS, HANGS, error]), 3)
    assert [one.event for one in ticks] == ["opened", "", event]


def test_nothing_to_watch() -> None:
    with pytest.raises(NotJudged):
        _watched(FakeLooker([None]), 1)
