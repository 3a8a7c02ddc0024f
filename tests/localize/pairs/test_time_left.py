"""Whether another round ends before the deadline."""

from collections.abc import Sequence

import pytest

from nccltool.localize.pairs.time_left import TimeLeft


@pytest.mark.parametrize(
    ("rounds", "is_enough"),
    [
        ([], True),
        ([(4.0, None)], True),
        ([(4.0, 5.0)], True),
        ([(4.0, 4.9)], False),
        ([(8.0, 30.0), (2.0, 9.0)], False),
        ([(2.0, 30.0), (2.0, 9.0)], True),
        ([(0.5, -1.0)], False),
    ],
)
def test_the_slowest_round_so_far_must_fit(rounds: Sequence[tuple[float, float | None]], is_enough: bool) -> None:
    time_left = TimeLeft()
    for round_s, left_s in rounds:
        time_left.note(round_s, left_s)
    assert time_left.is_enough is is_enough
