"""Runs apart by chance, by little or by much: what is called different, and how often wrongly."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from nccltool.compare.result import RunSample
from tests.compare.samples import STEADY, compared, of, row, run, side


@pytest.mark.parametrize(
    ("a", "b", "outcome", "exit_code"),
    [
        (STEADY, [1.1 * time for time in STEADY], "worse", 1),
        (STEADY, [0.9 * time for time in STEADY], "better", 0),
        (STEADY, [1.001 * time for time in STEADY], "same", 0),
        (STEADY, [1.02 * time for time in STEADY], "same", 0),  # real, but it does not matter
        ((1.0, 1.5, 0.7, 1.2, 0.9), (1.1, 1.6, 0.8, 1.3, 1.0), "cannot-tell", 4),
        ((1.0,), (1.1,), "worse", 1),
        ((1.0,), (1.001,), "same", 0),
        ((1.0,), (1.01,), "cannot-tell", 4),
        ((1.0, 1.4), (1.2, 1.7), "cannot-tell", 4),
    ],
)
def test_outcomes(a: Sequence[float], b: Sequence[float], outcome: str, exit_code: int) -> None:
    found = compared(of("a", *a), of("b", *b))
    assert (found.outcome, found.verdict.exit_code) == (outcome, exit_code)
    assert found.rows[0].effect.low < found.rows[0].effect.change < found.rows[0].effect.high
    assert [finding.code for finding in found.findings] == (["slower"] if outcome == "worse" else [])


def test_one_bad_size_among_many() -> None:
    a = side("a", *(run(f"a{k}", [time] * 6) for k, time in enumerate(STEADY)))
    b = side("b", *(run(f"b{k}", [time] * 5 + [1.2 * time]) for k, time in enumerate(STEADY)))
    found = compared(a, b)
    assert [each.effect.outcome for each in found.rows] == ["same"] * 5 + ["worse"]
    assert found.overall is not None
    assert found.overall.outcome == "same"
    assert "32 MiB" in found.findings[0].message


def test_a_run_that_is_not_repeated_is_judged_by_its_iterations() -> None:
    noisy = side("b", run("b", [1.2], rows=(row(1.2, spread=0.3),)))
    found = compared(of("a", *STEADY), noisy)
    assert found.outcome == "cannot-tell"
    unknown = side("b", run("b", [1.2], rows=(row(1.2, spread=None, median_s=None),)))
    assert compared(of("a", 1.0), unknown).statistic == "mean"
    assert compared(of("a", 1.0), unknown).outcome == "cannot-tell"


def _drawn(source: random.Random, runs: int, rows: int, slower: float, noise: float) -> list[RunSample]:
    """Half of the noise is common to the rows of a run."""
    found = []
    for number in range(runs):
        common = source.gauss(0, noise * math.sqrt(0.5))
        times = [slower * math.exp(common + source.gauss(0, noise * math.sqrt(0.5))) for _ in range(rows)]
        found.append(run(f"{slower}-{number}", times))
    return found


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize(("runs_a", "runs_b"), [(1, 1), (3, 3), (5, 5), (10, 1)])
def test_equals_are_hardly_ever_called_different(runs_a: int, runs_b: int, rows: int) -> None:
    source = random.Random(rows)
    outcomes = Counter(
        compared(
            side("a", *_drawn(source, runs_a, rows, 1.0, 0.01)),
            side("b", *_drawn(source, runs_b, rows, 1.0001, 0.01)),
        ).outcome
        for _ in range(40)
    )
    assert outcomes["worse"] + outcomes["better"] <= 1


@pytest.mark.parametrize("rows", [1, 6])
def test_five_percent_are_found_through_one_percent_of_noise(rows: int) -> None:
    source = random.Random(rows)
    outcomes = Counter(
        compared(
            side("a", *_drawn(source, 5, rows, 1.0, 0.01)), side("b", *_drawn(source, 5, rows, 1.05, 0.01))
        ).outcome
        for _ in range(20)
    )
    assert outcomes["worse"] >= 19


@pytest.mark.parametrize("runs", [1, 3])
def test_a_fault_that_adds_to_each_call_is_no_noise_although_it_moves_rows_unevenly(runs: int) -> None:
    """50 ms more: 1,000 times at the smallest size, 1.5 times at the largest."""
    times = [50e-6, 60e-6, 0.2e-3, 1e-3, 10e-3, 100e-3]
    a, b = (
        side(name, *(run(f"{name}{k}", [time + more for time in times]) for k in range(runs)))
        for name, more in (("a", 0.0), ("b", 0.05))
    )
    found = compared(a, b)
    assert found.overall is not None
    assert [row.effect.outcome for row in found.rows] == ["worse"] * 6
    assert (found.outcome, found.overall.outcome) == ("worse", "worse")


def test_rows_that_move_both_ways_show_noise() -> None:
    changes = (1.3, 0.75, 1.25, 0.8, 1.4, 0.7)
    found = compared(side("a", run("a", [1.0] * 6)), side("b", run("b", list(changes))))
    assert [row.effect.outcome for row in found.rows] == ["cannot-tell"] * 6
    assert found.outcome == "cannot-tell"


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        ({"iterations": 4, "spread": None}, {}, "cannot-tell"),  # too few on a side
        ({}, {"iterations": 1, "spread": None}, "cannot-tell"),
        ({"iterations": 5}, {"iterations": 5}, "worse"),
        ({"median_s": None, "spread": None, "iterations": None}, {}, "worse"),  # imported: a mean and nothing else
        ({"median_s": None, "spread": None, "iterations": 20}, {"median_s": None, "spread": None}, "worse"),
        ({"spread": 1.5}, {"spread": 0.01}, "worse"),  # a noisy side, and one that never comes near it
        ({"spread": 3.0}, {"spread": 3.0}, "cannot-tell"),
        ({}, {"median_s": 1.0}, "cannot-tell"),  # without its tail the slower side is as fast
    ],
)
def test_single_runs_that_are_143_times_apart(a: dict[str, Any], b: dict[str, Any], outcome: str) -> None:
    sides = (
        side(name, run(name, [], rows=(row(time, **more),)))
        for name, time, more in (("a", 1.0, a), ("b", 143.0, b))
    )
    found = compared(*sides)
    assert found.outcome == outcome
    assert found.rows[0].effect.change == pytest.approx(1 / 143 - 1)


def test_runs_that_repeat_make_up_for_few_iterations() -> None:
    few = {"iterations": 1, "spread": None}
    sides = (
        side(name, *(run(f"{name}{k}", [], rows=(row(factor * time, **few),)) for k, time in enumerate(STEADY)))
        for name, factor in (("a", 1.0), ("b", 143.0))
    )
    assert compared(*sides).outcome == "worse"
