"""How long to warm up and how often to measure."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core import statistics
from nccltool.probe import stopping


@pytest.mark.parametrize(
    ("medians", "spent_s", "over"),
    [
        ([], 0.0, False),
        ([1.0], 0.0, False),
        ([2.0, 1.0], 0.0, False),
        ([2.0, 1.0, 0.95], 0.0, True),
        ([1.0, 1.09], 0.0, True),
        ([1.0, 1.2], 0.0, False),
        ([1.0, 1.0, 2.0], 0.0, False),  # only the last two count
        ([0.0, 0.0], 0.0, True),
        ([2.0, 1.0] * 5, 0.0, True),  # never agrees: it ends all the same
        ([2.0, 1.0], 0.26, True),  # a quarter of the budget of 1 s is spent
        ([], 0.26, True),
    ],
)
def test_when_warm_up_is_over(medians: Sequence[float], spent_s: float, over: bool) -> None:
    assert stopping.warm(medians, spent_s, budget_s=1.0) is over


@pytest.mark.parametrize(
    ("estimate_s", "budget_s", "count"),
    [
        (None, 0.3, 5),  # nothing is known: it could be a second each
        (0.001, 0.3, 50),
        (0.03, 0.3, 10),
        (0.1, 0.3, 5),  # an interval needs five, whatever they cost
        (100.0, 0.3, 5),
    ],
)
def test_the_first_batch(estimate_s: float | None, budget_s: float, count: int) -> None:
    assert stopping.next_batch([], 0.0, 0.02, budget_s, estimate_s) == count


STEADY = [1.0] * 20
SPREAD = [1.0, 2.0] * 10


@pytest.mark.parametrize(
    ("samples", "spent_s", "budget_s", "count"),
    [
        (STEADY, 0.0, 1e9, 0),  # precise
        ([1e-3] * 200, 0.2, 1e9, 0),  # precise, and of 200 ms
        ([1e-3] * 120, 0.1, 1e9, 30),  # precise, but of 120 ms only: the other 30 ms
        ([1e-3, 2e-3] * 40, 0.1, 1e9, 20),  # not precise, and of 120 ms: no use to look before
        ([1e-5] * 50, 0.0, 1e9, 4950),  # up to the most that is kept
        ([1e-3] * 100, 0.1, 0.1, 0),  # the budget comes first
        ([1e-6] * 5000, 0.0, 1e9, 0),  # and so does the most that is kept
        (SPREAD, 10.0, 10.0, 0),  # nothing left to spend
        (SPREAD, 9.0, 10.0, 0),  # not enough left for one more
        (SPREAD, 0.0, 4.6, 3),  # enough for three more
        (SPREAD, 0.0, 1e9, 10),  # at most half of what is there
        ([1.0, 1.00205] * 50, 0.0, 1e9, 10),  # a little is lacking: a batch pays from a tenth on
        (SPREAD * 249, 0.0, 1e9, 20),  # up to 5000
        (SPREAD * 250, 0.0, 1e9, 0),
        ([0.0] * 20, 0.0, 1e9, 10),  # a clock that does not move tells nothing
    ],
)
def test_the_next_batch(samples: Sequence[float], spent_s: float, budget_s: float, count: int) -> None:
    assert stopping.next_batch(samples, spent_s, 0.001, budget_s, None) == count


@pytest.mark.parametrize(("count", "edge"), [(5, 0), (9, 0), (10, 1), (50, 1), (1000, 1)])
def test_a_batch_has_an_edge_where_it_can_afford_one(count: int, edge: int) -> None:
    assert stopping.edges(count) == edge


@given(
    samples=st.lists(st.floats(1e-6, 10), max_size=100),
    spent_s=st.floats(0, 100),
    precision=st.floats(1e-4, 1),
    budget_s=st.floats(1e-3, 100),
    estimate_s=st.none() | st.floats(1e-7, 100),
)
def test_it_always_ends(
    samples: list[float], spent_s: float, precision: float, budget_s: float, estimate_s: float | None
) -> None:
    count = stopping.next_batch(samples, spent_s, precision, budget_s, estimate_s)
    assert 0 <= len(samples) + count <= stopping.MAX_SAMPLES
    if samples and spent_s >= budget_s:
        assert count == 0


def test_a_noisy_row_gets_what_it_needs_and_a_quiet_one_stops_early() -> None:
    source = random.Random(1)

    def measured(spread: float) -> list[float]:
        samples: list[float] = []
        while count := stopping.next_batch(samples, sum(samples), 0.02, 10.0, 0.001):
            samples += [source.gauss(0.001, 0.001 * spread) for _ in range(count)]
        return samples

    quiet, noisy = measured(0.01), measured(0.2)
    assert stopping.LEAST_S <= sum(quiet) < 1.3 * stopping.LEAST_S
    assert len(quiet) < len(noisy) < stopping.MAX_SAMPLES
    for samples in (quiet, noisy):
        width = statistics.relative_half_width(samples)
        assert width is not None
        assert width <= 0.02


@pytest.mark.parametrize(
    ("samples", "noisy"),
    [([1.0] * 4, True), ([1.0] * 20, False), ([1.0, 1.01] * 10, False), ([1.0, 1.5] * 10, True)],
    ids=["too few to say", "all alike", "narrow enough", "too wide"],
)
def test_noise(samples: Sequence[float], noisy: bool) -> None:
    assert stopping.is_noisy(samples, 0.02) == noisy
