"""The wait graph."""

from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.judge.result import Wait
from nccltool.attach.judge.views import views
from nccltool.attach.judge.waits import cycle, roots, waits
from tests.attach.judge.looks import SLEEPS, R, look


def _wait(rank: int, group: str, *for_ranks: int) -> Wait:
    return Wait(rank=rank, group=group, operation="all_reduce", for_ranks=for_ranks)


def test_from_stacks() -> None:
    seen = views(look(R(), R(stack=SLEEPS), R(stack=("barrier", "0"))))
    found = waits(seen, (), frozenset(range(3)))
    assert [(one.rank, one.operation, one.for_ranks) for one in found] == [
        (0, "waits for gradients in the backward pass", (1, 2)),
        (2, "barrier", (0, 1)),
    ]


def test_the_end_of_a_chain() -> None:
    assert roots([_wait(0, "tp", 1), _wait(1, "dp", 5), _wait(2, "tp", 3)]) == {5, 3}


def test_a_circle_through_two_groups() -> None:
    assert set(cycle([_wait(0, "tp", 1), _wait(1, "dp", 0)])) == {0, 1}
    assert cycle([_wait(0, "tp", 1), _wait(1, "tp", 0)]) == ()  # one group: it is another fault
    assert cycle([_wait(0, "tp", 1), _wait(1, "dp", 2)]) == ()


_WAITS = st.lists(
    st.builds(
        Wait,
        rank=st.integers(0, 6),
        group=st.sampled_from(("a", "b")),
        operation=st.just("x"),
        for_ranks=st.lists(st.integers(0, 6), max_size=4).map(tuple),
    ),
    max_size=12,
)


@given(_WAITS)
def test_roots_and_circles_of_any_graph(graph: list[Wait]) -> None:
    waiters = {one.rank for one in graph}
    assert not roots(graph) & waiters
    assert set(cycle(graph)) <= waiters
