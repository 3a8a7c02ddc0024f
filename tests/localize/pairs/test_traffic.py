"""Which rank sends to which."""

import pytest

from nccltool.localize.pairs import traffic


@pytest.mark.parametrize(
    ("size", "members", "to"),
    [
        (2, 2, [1, 0]),
        (4, 2, [2, 3, 0, 1]),  # each to the rank in its place on the other node
        (3, 3, [1, 2, 0]),  # a ring of nodes
        (6, 3, [2, 3, 4, 5, 0, 1]),
    ],
)
def test_everyone_hears_from_whom_sends_to_it(size: int, members: int, to: list[int]) -> None:
    exchanges = [traffic.exchange(rank, size, members) for rank in range(size)]
    assert [one.to for one in exchanges] == to
    assert [to[one.source] for one in exchanges] == list(range(size))
    assert [one.is_first for one in exchanges] == [rank < size // members for rank in range(size)]
