"""The rank that lacks a core, and nobody where all lack them."""

from dataclasses import replace

import pytest

from nccltool.train import starved
from nccltool.train.result import RankStarved
from nccltool.train.starved import Scheduled


def rank(*ran_and_queued: tuple[int, int], moving: int = 0) -> tuple[Scheduled, ...]:
    return tuple(
        Scheduled(took_ns=100, ran_ns=ran, queued_ns=queued, moving_ns=moving) for ran, queued in ran_and_queued
    )


GOOD = rank((40, 5), (40, 8), (40, 2))
BUSY = rank((45, 50), (50, 45), (30, 55))
SLOW = rank((20, 75), (15, 80), (10, 85))


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([GOOD, GOOD], None),
        ([GOOD, SLOW], RankStarved(rank=1, share=0.8, others=0.05)),
        ([SLOW, GOOD, BUSY, GOOD], RankStarved(rank=0, share=0.8, others=0.5)),
        ([BUSY, rank((25, 75), (10, 85), (10, 85))], None),
        ([BUSY, BUSY, BUSY, BUSY], None),
        ([SLOW, SLOW], None),
        ([GOOD, rank((20, 75), (40, 5), (10, 85))], None),
        ([GOOD, rank((5, 40), (5, 40), (5, 40), moving=35)], RankStarved(rank=1, share=0.75, others=0.05)),
        ([GOOD, rank((5, 80), (5, 80), (5, 80), moving=35)], RankStarved(rank=1, share=1.0, others=0.05)),
        ([GOOD, rank((40, 5), (40, 5), (40, 5), moving=90)], None),
        ([GOOD], None),
        ([GOOD, ()], None),
    ],
    ids=[
        "healthy",
        "one",
        "one of four",
        "over half",
        "all are busy",
        "two",
        "not always",
        "and its data",
        "at once",
        "only its data",
        "alone",
        "unknown",
    ],
)
def test_a_rank_that_lacks_a_core(ranks: list[tuple[Scheduled, ...]], expected: RankStarved | None) -> None:
    found = starved.of(ranks)
    assert (found and replace(found, share=round(found.share, 6), others=round(found.others, 6))) == expected


def test_numbers_of_the_stream() -> None:
    assert starved.parts([100, 40, 5, 0, 100, 40, 8, 0]) == GOOD[:2]
    assert starved.parts([100, 5, 80, 35]) == rank((5, 80), moving=35)
    assert starved.parts([100, -1, -1, -1, 100, 40, 8, 0]) == ()
    assert starved.parts([]) == ()
