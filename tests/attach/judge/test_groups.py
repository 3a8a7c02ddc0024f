"""Ranks that do the same."""

from nccltool.attach.judge.groups import odd_ones, phase_groups
from nccltool.attach.judge.views import views
from tests.attach.judge.looks import SLEEPS, R, look


def test_the_odd_one_out() -> None:
    groups = phase_groups(views(look(*(R(),) * 7, R(stack=SLEEPS))))
    assert [one.ranks for one in groups] == [(0, 1, 2, 3, 4, 5, 6), (7,)]
    assert [one.ranks for one in odd_ones(groups)] == [(7,)]


def test_two_halves_have_no_odd_one() -> None:
    assert odd_ones(phase_groups(views(look(*(R(),) * 4, *(R(stack=SLEEPS),) * 4)))) == ()
    assert odd_ones(phase_groups(views(look(R(), R(stack=SLEEPS))))) == ()


def test_a_stopped_rank_is_a_group_of_its_own() -> None:
    groups = phase_groups(views(look(R(), R(), R(state="T"))))
    assert [(one.ranks, one.condition) for one in groups] == [((0, 1), ""), ((2,), "stopped")]
