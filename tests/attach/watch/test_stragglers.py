"""The rank that others wait for again and again."""

import pytest

from nccltool.attach.watch.stragglers import StragglerWatch
from tests.attach.judge.looks import COMPUTES, R, look

WAITS = R()
WORKS = R(stack=COMPUTES, state="R", cpu=1.0)


def _watched(*looks: tuple[R, ...]) -> StragglerWatch:
    watch = StragglerWatch()
    for ranks in looks:
        watch.add(look(*ranks, samples=1))
    return watch


LAST_1 = (WAITS, WORKS, WAITS)
LAST_2 = (WAITS, WAITS, WORKS)
ALL_WORK = (WORKS, WORKS, WORKS)


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([LAST_1] * 4, None),  # too few
        ([LAST_1] * 6, (1, "medium")),
        ([LAST_1] * 20, (1, "high")),
        ([LAST_1] * 19 + [LAST_2], (1, "medium")),
        ([LAST_1] * 10 + [LAST_2] * 10, None),
        ([ALL_WORK] * 40, None),
        ([LAST_1] * 6 + [ALL_WORK] * 30, (1, "medium")),
        ([(WAITS, WORKS)] * 20, (1, "high")),
        ([(WORKS, R(stack=None), WAITS)] * 20, (0, "high")),  # the unread rank says nothing
        ([(WAITS, WAITS, R(stack=COMPUTES, state="T"))] * 20, None),  # a stopped rank is no straggler
    ],
)
def test_who_is_last(looks: list[tuple[R, ...]], expected: tuple[int, str] | None) -> None:
    found = [(one.rank, one.level) for one in _watched(*looks).found()]
    assert found == ([] if expected is None else [expected])


def test_the_evidence() -> None:
    (one,) = _watched(*[LAST_1] * 20).found()
    assert one.evidence == (
        "the others waited for it in 20 of 20 looks in which one rank was last",
        "it waited for others in 0% of 20 looks; usual is 100%",
    )


def test_another_attempt_begins_without_memory() -> None:
    watch = _watched(*[LAST_1] * 20)
    watch.clear()
    assert (watch.looks, list(watch.found())) == (0, [])
