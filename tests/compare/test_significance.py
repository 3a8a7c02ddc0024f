"""Arithmetic on a few runs, held against tables and against drawing."""

import random
from statistics import median, pvariance

import pytest

from nccltool.compare import significance


@pytest.mark.parametrize(
    ("chance", "freedom", "expected"),
    [
        (0.05, 1, 12.706),
        (0.05, 4, 2.776),
        (0.01, 10, 3.169),
        (0.002, 30, 3.385),
        (0.05, significance.NORMAL, 1.960),
    ],
)
def test_critical_values_are_those_of_the_tables(chance: float, freedom: float, expected: float) -> None:
    assert significance.critical(chance, freedom) == pytest.approx(expected, abs=0.001)
    assert significance.two_sided(expected, freedom) == pytest.approx(chance, rel=0.002)
    assert significance.two_sided(-expected, freedom) == significance.two_sided(expected, freedom)


def test_no_difference_is_certain_chance() -> None:
    assert significance.two_sided(0.0, 4) == significance.two_sided(0.0, significance.NORMAL) == 1.0


@pytest.mark.parametrize(
    ("chances", "expected"),
    [([], []), ([0.02], [0.02]), ([0.01, 0.04, 0.03, 0.5], [0.04, 0.09, 0.09, 0.5]), ([0.6, 0.7], [1.0, 1.0])],
)
def test_holm(chances: list[float], expected: list[float]) -> None:
    assert significance.holm(chances) == pytest.approx(expected)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11])
def test_drawn_numbers_spread_as_said(count: int) -> None:
    source = random.Random(count)
    draws = [[source.gauss(0, 1) for _ in range(count)] for _ in range(4000)]
    assert pvariance([median(draw) for draw in draws]) == pytest.approx(
        significance.median_variance(count), rel=0.1
    )
    sigmas = [sigma for draw in draws if (sigma := significance.robust_sigma(draw)) is not None]
    assert (sum(sigmas) / len(sigmas) if sigmas else 1.0) == pytest.approx(1.0, abs=0.06)


def test_spread_of_groups() -> None:
    assert significance.pooled_sigma([1.0, 3.0], [10.0, 12.0]) == pytest.approx(2**0.5)
    assert significance.pooled_sigma([1.0], [10.0]) is None
    assert significance.robust_sigma([1.0]) is None
