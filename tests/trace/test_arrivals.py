"""Who came last: the late one is named, an innocent is not."""

import random
from dataclasses import replace

import pytest

from nccltool.trace.arrivals import arrivals
from nccltool.trace.matching import matched
from nccltool.trace.result import RankTrace, StepArrivals
from tests.trace.samples import ranks_of

LATE = [[30_000.0, 31_000, 900, 29_000]] * 8


def _checked(traces: list[RankTrace]) -> StepArrivals:
    (found,) = arrivals(matched(traces), traces)
    return found


def test_the_late_rank_is_named() -> None:
    found = _checked(ranks_of(LATE))
    assert (found.rank, found.last_in, found.steps, found.why_not) == (2, (0, 0, 8, 0), 8, "")
    assert found.gain_s == pytest.approx(0.0281)
    assert found.waited_s == pytest.approx((8 * 0.0291, 8 * 0.0301, 0, 8 * 0.0281))


def test_clocks_play_no_part() -> None:
    traces = ranks_of(LATE)
    moved = [
        replace(
            one,
            steps=tuple(replace(s, begin_s=s.begin_s + 1e6 * at, end_s=s.end_s + 1e6 * at) for s in one.steps),
            collectives=tuple(replace(c, begin_s=c.begin_s + 1e6 * at) for c in one.collectives),
        )
        for at, one in enumerate(traces)
    ]
    assert _checked(moved).rank == 2


@pytest.mark.parametrize(
    ("traces", "why"),
    [
        (ranks_of(LATE[:3]), "no rank is last more often than chance explains in 3 steps"),
        (ranks_of([[900.0, 800, 850, 870]] * 8), "the rank last most often delays a step by less than 10 ms"),
        (
            ranks_of([[30_000.0, 900, 900, 29_000]] * 8),
            "no rank is last more often than chance explains in 8 steps",
        ),
        ([replace(one, steps=()) for one in ranks_of(LATE)], "the traces do not mark steps"),
        (ranks_of(LATE)[:3], "no trace of rank 3 was read"),
    ],
)
def test_nobody_is_named(traces: list[RankTrace], why: str) -> None:
    found = _checked(traces)
    assert (found.rank, found.why_not) == (None, why)


@pytest.mark.parametrize(("idle_s", "rank"), [(8 * 0.02, 2), (8 * 0.03, None)])
def test_a_rank_whose_gpu_waits_longer_for_its_own_launches_is_not_late(idle_s: float, rank: int | None) -> None:
    traces = [replace(one, has_gpu=True, use=replace(one.use, launch_s=idle_s)) for one in ranks_of(LATE)]
    assert _checked(traces).rank == rank


@pytest.mark.parametrize(("shorter_us", "rank"), [(4_000, None), (6_000, 2)])
def test_on_gpus_a_rank_that_costs_a_twentieth_of_a_step_is_late(shorter_us: float, rank: int | None) -> None:
    steps = [[9_000.0, 9_500, 9_000 - shorter_us, 9_100]] * 8
    assert _checked([replace(one, has_gpu=True) for one in ranks_of(steps)]).rank == rank


def test_a_broadcast_does_not_tell_who_came_last() -> None:
    traces = [
        replace(one, collectives=tuple(replace(call, operation="broadcast") for call in one.collectives))
        for one in ranks_of(LATE)
    ]
    assert arrivals(matched(traces), traces) == ()


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_healthy_ranks_are_named_as_seldom_as_promised(ranks: int) -> None:
    """In each step another rank is late by chance, and by much."""
    drawn = random.Random(ranks)
    named = 0
    for _ in range(1000):
        steps = [[drawn.uniform(0, 50_000) for _ in range(ranks)] for _ in range(10)]
        named += _checked(ranks_of(steps)).rank is not None
    assert named <= 20  # 10 expected at most
