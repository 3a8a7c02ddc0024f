"""Who waits, who is suspected, who is missing."""

from nccltool.attach.judge.case import case_of
from tests.attach.judge.looks import COMPUTES, SLEEPS, R, look


def test_waiting_ranks_and_suspects() -> None:
    case = case_of(look(R(), R(stack=SLEEPS), R(state="T"), R(stack=None)))
    assert [view.rank for view in case.waiting] == [0]
    assert [view.rank for view in case.suspects] == [1]
    assert (case.blocked, case.since_s) == (True, 60)


def test_one_rank_that_moves_unblocks() -> None:
    assert case_of(look(R(), R(switches=50), R(stack=SLEEPS))).blocked is False
    assert case_of(look(R(stack=COMPUTES, state="R"), R(stack=SLEEPS))).blocked is None


def test_ranks_that_are_missing_on_their_host_or_were_not_looked_at() -> None:
    case = case_of(look(R(), R(), local=4, world=16))
    assert (case.missing, case.not_looked_at) == ((2, 3), 12)
    assert case.lowered == ("only 2 of 14 ranks could be read",)


def test_the_level_is_never_above_that_of_the_row() -> None:
    case = case_of(look(R(), R()))
    assert case.culprit("own-code", "x", level="high").level == "medium"
    assert case.culprit("dead", "x").level == "high"
    assert case_of(look(R(), R(), samples=1)).culprit("dead", "x").level == "medium"
