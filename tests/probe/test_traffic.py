"""Which destination is slower than the others, and what is said of it."""

import random

import pytest

from nccltool.probe import traffic
from nccltool.probe.traffic import SlowestDestination, UnevenTraffic


def rounds(*typical: float, spread: float = 0.2, seed: int = 0) -> list[list[int]]:
    """Times that scatter by a log-normal factor, as those of processes on busy CPUs do."""
    dice = random.Random(seed)
    return [[int(1e6 * one * dice.lognormvariate(0, spread)) for _ in range(traffic.ROUNDS)] for one in typical]


@pytest.mark.parametrize("slow", range(4))
def test_a_destination_at_half_the_rate_is_named(slow: int) -> None:
    found = traffic.slowest(rounds(*(2.0 if rank == slow else 1.0 for rank in range(4))))
    assert found is not None
    assert found.rank == slow
    assert found.ratio == pytest.approx(2.0, rel=0.3)


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_nobody_is_named_by_chance(ranks: int) -> None:
    assert not any(traffic.slowest(rounds(*[1.0] * ranks, spread=0.5, seed=seed)) for seed in range(200))


def test_two_slow_destinations_are_not_told_apart() -> None:
    assert traffic.slowest(rounds(2.0, 2.0, 1.0, 1.0)) is None


def test_noise_that_covers_the_difference() -> None:
    one = rounds(1.0, 1.0, 1.0)
    one[0] = [mine * (9 if number % 2 else 1) for number, mine in enumerate(one[0])]
    assert traffic.slowest(one) is None


def test_exact_times() -> None:
    assert traffic.slowest([[100] * 15, [300] * 15, [200] * 15]) == SlowestDestination(1, 1.5)


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        (
            UnevenTraffic(skew="uniform", imbalance=1.0, busiest_rank=None),
            "op at 1 MiB: all ranks receive the same; no destination stands out as slow",
        ),
        (
            UnevenTraffic(skew="one-hot", imbalance=4, busiest_rank=0, slowest_destination=2, slowest_ratio=2.04),
            "op at 1 MiB: rank 0 receives 4.0 times the mean; slowest destination: rank 2, which takes 2.0 times "
            "as long as the next slowest for the same bytes",
        ),
        (
            UnevenTraffic(skew="zipf:1.1", imbalance=2.1, busiest_rank=0, unknown_reason="so"),
            "op at 1 MiB: rank 0 receives 2.1 times the mean; slowest destination unknown: so",
        ),
    ],
)
def test_what_is_said(sent: UnevenTraffic, line: str) -> None:
    other = UnevenTraffic(skew="uniform", imbalance=1.0, busiest_rank=None)
    assert list(traffic.lines([("op", 2**10, other), ("op", 2**20, sent)])) == [line]
