"""Steps are dated, and noise is none."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.history import change_point
from nccltool.history.change_point import changes, may_have_changed


def _nights(draws: random.Random, at: int | None, step: float = 0.05, noise: float = 0.03) -> list[float]:
    return [
        100e9 * (1 + draws.gauss(0, noise)) * (1 - step if at is not None and night >= at else 1)
        for night in range(60)
    ]


def test_a_drift_of_5_percent_in_60_nights_of_3_percent_noise_is_dated() -> None:
    """Planted anywhere but in the first and the last two weeks; docs/commands/history.md has more of them."""
    draws = random.Random(21)
    found = [(at, changes(_nights(draws, at))) for at in [draws.randrange(15, 46) for _ in range(200)]]
    dated = sum(any(abs(one.at - at) <= change_point.NEAR for one in some) for at, some in found)
    assert dated >= 0.92 * 200  # 94 to 96 of 100 in 10,000 draws
    covered = sum(any(one.earliest <= at <= one.latest for one in some) for at, some in found if some)
    assert covered >= 0.93 * 200


def test_noise_is_no_drift() -> None:
    draws = random.Random(22)
    assert sum(bool(changes(_nights(draws, None))) for _ in range(200)) <= 4


def test_a_step_without_noise() -> None:
    (one,) = changes([100.0] * 20 + [50.0] * 10)
    assert (one.at, one.earliest, one.latest) == (20, 19, 21)
    assert one.ratio == pytest.approx(0.5)
    assert one.ratio_low <= one.ratio <= one.ratio_high
    assert one.before == pytest.approx(100)
    assert one.after == pytest.approx(50)


_BAD_NIGHTS = {
    "one": [9.40, 9.54, 9.74, 9.59, 9.87, 9.45, 9.14, 9.84, 9.60, 9.82, 9.96, 9.80, 9.53, 9.98, 9.67, 8.37],
    "three": [9.68, 9.59, 9.76, 9.73, 9.85, 9.42, 9.86, 9.49, 9.61, 9.71, 9.49, 9.34, 8.11, 9.05, 9.06, 9.67],
}
"""Of two months of real runs: one call of 12 took twice as long in the nights before the cable got slower."""


@pytest.mark.parametrize("bad", _BAD_NIGHTS)
def test_bad_nights_before_a_step_are_in_the_interval_of_its_date(bad: str) -> None:
    nights = _BAD_NIGHTS[bad]
    (one,) = changes([*nights, 8.52, 8.69, 8.34, 8.39, 8.98, 8.33, 8.46, 8.42, 8.70, 8.48, 8.06])
    assert one.earliest <= len(nights) <= one.latest


def test_two_steps() -> None:
    draws = random.Random(3)
    values = [level * (1 + draws.gauss(0, 0.01)) for level in [100.0] * 20 + [80.0] * 20 + [100.0] * 20]
    first, second = changes(values)
    assert (first.at, second.at) == (20, 40)
    assert first.ratio == pytest.approx(0.8, rel=0.02)
    assert second.ratio == pytest.approx(1.25, rel=0.02)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0] * 9,
        [5.0] * 60,
        [100.0 + night % 2 for night in range(60)],
        [100.0] * 30 + [10.0] + [100.0] * 29,
        [100.0 + night % 3 for night in range(58)] + [50.0, 50.0],
    ],
    ids=["none", "too few", "equal", "every other night", "one bad night", "two bad nights at the end"],
)
def test_no_change(values: Sequence[float]) -> None:
    assert changes(values) == ()


def test_nights_that_resemble_the_night_before_are_noise() -> None:
    draws, false = random.Random(5), 0
    for _ in range(100):
        level, values = 0.0, []
        for _ in range(60):
            level = 0.5 * level + draws.gauss(0, 0.03)
            values.append(100 * math.exp(level))
        false += bool(changes(values))
    assert false <= 15


def test_the_quick_look_misses_nothing_that_counts() -> None:
    draws, missed, quiet = random.Random(6), 0, 0
    for _ in range(200):
        values = _nights(draws, draws.randrange(8, 53))
        values[draws.randrange(60)] *= 0.1  # a bad night besides
        missed += bool(changes(values)) and not may_have_changed(values)
        quiet += not may_have_changed(_nights(draws, None))
    assert missed <= 2
    assert quiet >= 150


@given(st.lists(st.floats(1e-9, 1e15), max_size=80))
def test_whatever_comes(values: list[float]) -> None:
    last = 0
    for one in changes(values):
        assert last + change_point.FEWEST <= one.at <= len(values) - change_point.FEWEST
        assert one.earliest <= one.at <= one.latest < len(values)
        assert one.ratio_low <= one.ratio <= one.ratio_high
        last = one.at
    may_have_changed(values)
