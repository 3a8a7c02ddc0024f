"""The circle method."""

from itertools import combinations

import pytest

from nccltool.localize.schedule import circle


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 33])
def test_everyone_meets_everyone_once(count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    rounds = [circle.pairs(names, number) for number in range(circle.rounds_of(count))]
    assert all(len({name for pair in each for name in pair}) == 2 * len(each) for each in rounds)
    met = sorted(tuple(sorted(pair)) for each in rounds for pair in each)
    assert met == sorted(tuple(sorted(pair)) for pair in combinations(names, 2))
