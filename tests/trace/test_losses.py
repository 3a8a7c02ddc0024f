"""What costs a job time: each state apart from the others."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.trace.arrivals import arrivals
from nccltool.trace.losses import losses
from nccltool.trace.matching import matched
from nccltool.trace.result import RankTrace
from tests.trace.samples import built, event, ranks_of

STEP = event("ProfilerStep#1", 0, 100, "user_annotation")
OPERATOR = event("aten::mm", 0, 60)


def _found(traces: list[RankTrace]) -> list[tuple[str, int, int | None]]:
    return [
        (one.cause, round(one.share * 100), one.rank) for one in losses(traces, arrivals(matched(traces), traces))
    ]


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([event("aten::mm", 0, 100)], []),
        ([OPERATOR, event("enumerate(DataLoader)#x", 60, 40)], [("input", 40, 0)]),
        ([OPERATOR, event("nccltool input", 60, 40, "user_annotation")], [("input", 40, 0)]),
        ([OPERATOR, event("gemm", 50, 50, "kernel")], [("launch", 50, 0)]),
        ([OPERATOR, event("gloo:all_reduce", 50, 50, "user_annotation")], [("communication", 40, None)]),
        ([OPERATOR, event("enumerate(DataLoader)#x", 91, 9)], []),
    ],
)
def test_one_trace(events: list[dict[str, Any]], found: list[Any]) -> None:
    assert _found([built(STEP, *events)]) == found


def test_waiting_for_a_late_rank_is_no_fault_of_the_network() -> None:
    assert _found(ranks_of([[60_000.0, 1000]] * 8)) == [("late rank", 59, 1)]


def test_the_share_of_a_late_rank_is_of_the_step_that_the_headline_names() -> None:
    """Whose own steps are shorter than those of the slowest rank."""
    first, late = ranks_of([[60_000.0, 1000]] * 8)
    last = arrivals(matched([first, late]), [first, late])
    late = replace(late, steps=tuple(replace(one, end_s=(one.begin_s + one.end_s) / 2) for one in late.steps))
    (found,) = losses([first, late], last)
    assert (round(found.share * 100), found.rank) == (59, 1)


def test_communication_that_takes_long_on_all_ranks() -> None:
    assert _found(ranks_of([[60_000.0, 60_500]] * 8)) == [("communication", 60, None)]


def test_a_rank_whose_input_is_slow_is_late_because_of_it() -> None:
    first, late = ranks_of([[60_000.0, 1000]] * 8)
    found = _found([_with_input(first, 0.0), _with_input(late, 0.55)])
    assert found == [("input", 55, 1), ("late rank", 4, 1)]
    assert _found([_with_input(first, 0.5), _with_input(late, 0.5)])[0] == ("late rank", 59, 1)


def _with_input(trace: RankTrace, share: float) -> RankTrace:
    return replace(trace, use=replace(trace.use, input_s=share * trace.use.window_s))
