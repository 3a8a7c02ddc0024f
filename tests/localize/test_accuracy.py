"""The accuracy of docs/localize.md, on fewer runs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
QUICK = (
    *("4 bad, 0.7", "no fault, 6 % noise", "2 nodes without any result", "8 nodes, 1 bad"),
    "the same, then --all-pairs as it asks",
)
WHOLE = (
    "4 bad, 0.82",
    "4 bad, 0.6 half of the time",
    "16 of 64 bad",
    "bad uplink of 1 of 4 leaves",
    "40 of 64 bad",
    "2 bad, contention in leaves",
)


@pytest.fixture
def bench() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from benchmarks import localize

        yield localize
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize(
    ("name", "runs"),
    [*((name, 2) for name in QUICK), *(pytest.param(name, 20, marks=pytest.mark.slow) for name in WHOLE)],
)
def test_what_is_slow_is_named_and_nothing_else(bench: ModuleType, name: str, runs: int) -> None:
    trial = next(each for each in bench.CASES if each.case.name == name)
    score = bench.of_check(trial, runs)
    assert trial.is_met(score.exact / runs, score.named / max(score.faults, 1), score.wrong / runs)


@pytest.mark.parametrize("seed", [8, 11, 13, 15])
def test_noise_that_explains_one_suspect_explains_others(bench: ModuleType, seed: int) -> None:
    """Noise that only slows makes several healthy nodes look slow: those tell how much of it there is."""
    name = "no fault, noise of 10 % that only slows, 64 nodes"
    trial = next(each for each in bench.CASES if each.case.name == name)
    assert bench.of_check(trial, 1, begin=seed).wrong == 0


@pytest.mark.parametrize("seed", [10, 25, 40])
def test_neighbors_by_name_do_not_hide_what_is_slow_across_leaf_switches(bench: ModuleType, seed: int) -> None:
    """Nodes of one leaf switch are fast together although the uplinks have contention."""
    trial = next(each for each in bench.CASES if each.case.name == "2 bad, contention in leaves")
    assert bench.of_check(trial, 1, begin=seed).exact == 1


def test_other_schemes_err_where_this_check_does_not(bench: ModuleType) -> None:
    trial = next(each for each in bench.CASES if each.case.name == "4 bad, first node among them")
    assert bench.of_check(trial, 3).exact == 3
    assert bench.of_scheme(trial, "star", 3).exact == 0
    assert bench.of_scheme(trial, "two-pass", 3).exact == 3
