"""The n-th collective of each group, across ranks."""

from dataclasses import replace

import pytest

from nccltool.trace.matching import matched
from nccltool.trace.result import RankTrace
from tests.trace.samples import built, event, ranks_of

TWO = ranks_of([[10, 20], [30, 5]])


def test_matched_by_number() -> None:
    (group,) = matched(TWO)
    assert (group.group, group.ranks, group.unmatched, group.unnamed) == ("0", (0, 1), "", "")
    assert [[round(one.seconds * 1e6) for one in row] for row in group.collectives] == [[10, 20], [30, 5]]


def _without_last(trace: RankTrace) -> RankTrace:
    return replace(trace, collectives=trace.collectives[:-1])


def _from_step(trace: RankTrace, number: int) -> RankTrace:
    return replace(trace, steps=tuple(replace(one, number=one.number + number) for one in trace.steps))


def _first_as(trace: RankTrace, operation: str) -> RankTrace:
    first, *rest = trace.collectives
    return replace(trace, collectives=(replace(first, operation=operation), *rest))


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (replace(TWO[1], ends_early=True), "the trace of rank 1 is incomplete"),
        (replace(TWO[1], is_cut=True), "the trace of rank 1 is incomplete"),
        (_from_step(TWO[1], 5), "the traces begin with different steps: 0, 5"),
        (_first_as(TWO[1], "broadcast"), "collective 1 is all_reduce on rank 0 and broadcast on rank 1"),
        (_without_last(TWO[1]), "collective 2 is all_reduce on rank 0 and missing on rank 1"),
    ],
)
def test_what_cannot_be_matched(second: RankTrace, reason: str) -> None:
    (group,) = matched([TWO[0], second])
    assert (group.collectives, group.unmatched) == ((), reason)


def test_a_rank_without_a_trace() -> None:
    (group,) = matched(ranks_of([[10, 20, 30]])[:2])
    assert (len(group.collectives), group.unnamed) == (1, "no trace of rank 2 was read")


def test_one_rank_alone() -> None:
    (group,) = matched(TWO[:1])
    assert group.unnamed == "no trace of rank 1 was read"
    assert matched([built(event("gloo:all_reduce", 1, 1, "user_annotation"))]) == ()


def test_groups_of_one_name_and_other_ranks_are_others() -> None:
    first, second = TWO
    other = replace(second, groups={"0": (1, 2)})
    assert [group.ranks for group in matched([first, other])] == [(0,), (1,)]
