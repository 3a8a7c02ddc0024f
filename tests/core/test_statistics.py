"""Statistics: a table by hand, and what must hold for any samples."""

import math
import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core import statistics as core_statistics
from nccltool.core.statistics import Stats

SAMPLES = st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=150)


@pytest.mark.parametrize(
    ("seconds", "summary"),
    [
        ([2.0], Stats(mean=2.0, median=2.0, p90=2.0, p99=None, min=2.0, max=2.0, ci95=None)),
        ([4.0, 1.0], Stats(mean=2.5, median=2.5, p90=4.0, p99=None, min=1.0, max=4.0, ci95=None)),
        ([4.0, 1.0, 1.0], Stats(mean=2.0, median=1.0, p90=4.0, p99=None, min=1.0, max=4.0, ci95=None)),
        ([1.0] * 5, Stats(mean=1.0, median=1.0, p90=1.0, p99=None, min=1.0, max=1.0, ci95=(1.0, 1.0))),
    ],
)
def test_few_samples(seconds: list[float], summary: Stats) -> None:
    assert core_statistics.summarise(seconds) == summary


@pytest.mark.parametrize(
    ("count", "p90", "p99"),
    [
        (10, 9.0, None),
        (11, 10.0, None),
        (99, 90.0, None),
        (100, 90.0, 99.0),
        (101, 91.0, 100.0),
        (1000, 900.0, 990.0),
    ],
)
def test_percentiles_are_samples_by_nearest_rank(count: int, p90: float, p99: float | None) -> None:
    summary = core_statistics.summarise([float(value) for value in range(count, 0, -1)])
    assert (summary.p90, summary.p99) == (p90, p99)


@given(SAMPLES)
def test_the_order_of_the_numbers(seconds: list[float]) -> None:
    summary = core_statistics.summarise(seconds)
    assert summary.min and summary.median and summary.p90 and summary.max
    assert summary.min <= summary.median <= summary.p90 <= (summary.p99 or summary.max) <= summary.max
    assert summary.min * (1 - 1e-12) <= summary.mean <= summary.max * (1 + 1e-12)
    assert {summary.min, summary.max, summary.p90} <= set(seconds)
    assert (summary.p99 is None) == (len(seconds) < core_statistics.MIN_FOR_P99)
    assert (summary.ci95 is None) == (len(seconds) < core_statistics.MIN_FOR_INTERVAL)


@given(st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_only_the_interval_knows_the_order_of_the_samples(seconds: list[float], shuffler: random.Random) -> None:
    shuffled = list(seconds)
    shuffler.shuffle(shuffled)
    assert replace(core_statistics.summarise(shuffled), ci95=None) == replace(
        core_statistics.summarise(seconds), ci95=None
    )


@given(st.lists(st.floats(1e-7, 1e3), min_size=core_statistics.MIN_FOR_INTERVAL, max_size=150))
def test_the_interval_lies_within_the_samples(seconds: list[float]) -> None:
    low, high = core_statistics.interval(seconds)
    assert min(seconds) * (1 - 1e-12) <= low <= high <= max(seconds) * (1 + 1e-12)


TRUE_MEDIAN = 2 * math.log(2)
"""Of the exponential distribution with the mean 2, which is as skewed as times are."""


@pytest.mark.parametrize("count", [20, 51, 60, 99, 120, 150, 2000])
def test_the_interval_finds_the_true_median(count: int) -> None:
    """Of 100 intervals of 95 %, the true median lies in most."""
    source = random.Random(1)
    intervals = [core_statistics.interval([source.expovariate(0.5) for _ in range(count)]) for _ in range(100)]
    assert 85 <= sum(low <= TRUE_MEDIAN <= high for low, high in intervals) <= 99


@pytest.mark.parametrize(("count", "least"), [(200, 85), (400, 85), (1000, 88)])
def test_the_interval_finds_the_true_median_of_iterations_that_disturb_each_other(count: int, least: int) -> None:
    """Each sample keeps 0.8 of the deviation of the one before; resampled one by one, they would look too good."""
    source = random.Random(3)

    def disturbed() -> list[float]:
        seconds, deviation = [], 0.0
        for _ in range(count):
            deviation = 0.8 * deviation + source.gauss(0.0, 0.1)
            seconds.append(2.0 + deviation)
        return seconds

    intervals = [core_statistics.interval(disturbed()) for _ in range(100)]
    assert least <= sum(low <= 2.0 <= high for low, high in intervals) <= 99


def test_times_that_grow_have_no_narrow_interval() -> None:
    source = random.Random(7)
    steady = [source.gauss(1.0, 0.05) for _ in range(400)]
    growing = [seconds * (1 + 0.2 * index / 400) for index, seconds in enumerate(steady)]
    before, after = core_statistics.relative_half_width(steady), core_statistics.relative_half_width(growing)
    assert before is not None
    assert after is not None
    assert after > 5 * before


def test_a_few_interrupted_iterations_do_not_widen_the_interval() -> None:
    source = random.Random(5)
    quiet = [source.gauss(1.0, 0.01) for _ in range(200)]
    interrupted = [value + (50.0 if number % 40 == 7 else 0.0) for number, value in enumerate(quiet)]
    quiet_width, width = (core_statistics.relative_half_width(seconds) for seconds in (quiet, interrupted))
    assert quiet_width == pytest.approx(0.002, abs=0.001)
    assert width == pytest.approx(quiet_width, abs=0.001)


@pytest.mark.parametrize(
    ("seconds", "width"), [([], None), ([1.0] * 4, None), ([1.0] * 5, 0.0), ([0.0] * 5, None)]
)
def test_when_there_is_no_width(seconds: list[float], width: float | None) -> None:
    assert core_statistics.relative_half_width(seconds) == width


@given(st.lists(st.floats(1e-7, 1e3), min_size=core_statistics.MIN_FOR_INTERVAL, max_size=150))
def test_the_median_lies_in_its_interval(seconds: list[float]) -> None:
    low, high = core_statistics.interval(seconds)
    assert low <= (core_statistics.summarise(seconds).median or 0.0) <= high


@pytest.mark.parametrize("count", range(6, 51))
def test_the_interval_has_the_true_median_in_95_of_100_cases(count: int) -> None:
    """Exact: how many numbers of any distribution are below its median is binomial. The next one inside is not."""
    apart = [float(index // 2 if index % 2 else count - 1 - index // 2) for index in range(count)]
    low, high = (int(end) for end in core_statistics.interval(apart))
    chances = [math.comb(count, below) / 2**count for below in range(count + 1)]
    assert sum(chances[low + 1 : high + 1]) >= 0.95 > sum(chances[low + 2 : high])


def test_the_same_samples_give_the_same_interval() -> None:
    source = random.Random(4)
    seconds = [source.random() for _ in range(100)]
    assert core_statistics.interval(seconds) == core_statistics.interval(seconds)


@pytest.mark.parametrize("count", [5, 20, 49, 50])
def test_the_interval_is_that_of_resampling(count: int) -> None:
    source = random.Random(6)
    medians = sorted(statistics.median_low(source.choices(range(count), k=count)) for _ in range(4000))
    low, high = core_statistics.interval([float(index) for index in source.sample(range(count), count)])
    assert low == pytest.approx(medians[100], abs=1)
    assert high == pytest.approx(medians[3900], abs=1)


@pytest.mark.parametrize(
    ("mean", "ci95", "between", "error"),
    [
        (1.0, (0.98, 1.03), (0.98, 1.03), 0.03),
        (1.42, (0.98, 1.02), (0.98, 1.42), 0.44 / 1.42),  # a tail: the mean is outside the interval of the median
        (0.9, (0.98, 1.02), (0.9, 1.02), 0.12 / 0.9),
        (1.0, None, (1.0, 1.0), None),
    ],
)
def test_what_the_one_number_could_be(
    mean: float, ci95: tuple[float, float] | None, between: tuple[float, float], error: float | None
) -> None:
    times = Stats(mean=mean, median=1.0, p90=None, p99=None, min=None, max=None, ci95=ci95)
    assert (times.seconds, times.seconds_between) == (mean, between)
    assert times.relative_error == (None if error is None else pytest.approx(error))
