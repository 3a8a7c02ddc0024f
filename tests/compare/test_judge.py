"""Two sets of runs against each other: what is called different, what is refused, what a baseline expects."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nccltool.compare import judge, run_samples
from nccltool.compare.effects import CompareSettings
from nccltool.compare.result import Baseline, Circumstances, Comparison, RowKey, RowSample, RunSample, Side
from nccltool.core.errors import BadInput
from nccltool.probe.result import Measurement
from tests.samples import info, measurement, stats

KEY = RowKey(
    op="all_reduce", bytes=2**20, dtype="float32", reduce_op="sum", placement="in-place", cadence="stream"
)
HERE = Circumstances(transport="ib", nics="8 x 400 Gb/s InfiniBand", gpu="NVIDIA H200", nodes=2, ranks=16)


def row(time_s: float, **changes: Any) -> RowSample:
    plain = RowSample(
        key=KEY, median_s=time_s, mean_s=time_s, spread=0.01, iterations=100, busbw_bytes_per_s=1e6 / time_s
    )
    return replace(plain, **changes)


def run(name: str, times: Sequence[float], **changes: Any) -> RunSample:
    """A run with a row of 1 MiB, 2 MiB, ... for each time."""
    rows = [row(time, key=replace(KEY, bytes=2**20 << place)) for place, time in enumerate(times)]
    plain = RunSample(id=name, started="", hosts=("n1", "n2"), circumstances=HERE, rows=tuple(rows))
    return replace(plain, **changes)


def side(name: str, *runs: RunSample) -> Side:
    return Side(name=name, runs=runs)


def compared(a: Side, b: Side, **settings: Any) -> Comparison:
    return judge.compare(info(), a, b, CompareSettings(**settings))


def of(name: str, *times: float) -> Side:
    """Runs with one row."""
    return side(name, *(run(f"{name}{place}", [time]) for place, time in enumerate(times)))


STEADY = (1.00, 1.001, 0.999, 1.002, 0.998)


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


def test_a_change_is_of_bus_bandwidth() -> None:
    found = compared(of("a", *STEADY), of("b", *(2 * time for time in STEADY)))
    (only,) = found.rows
    assert only.effect.change == pytest.approx(-0.5)
    assert only.busbw_b_bytes_per_s / only.busbw_a_bytes_per_s == pytest.approx(0.5)
    assert only.effect.spread_is_measured
    assert found.overall is None


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


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"transport": "socket"}, "transport (ib; socket)"),
        ({"transport": None}, "transport (ib; not known)"),
        ({"gpu": ""}, "gpu (NVIDIA H200; no GPU)"),
        ({"nodes": 4, "ranks": 32}, "nodes (2; 4), ranks (16; 32)"),
        ({"torch": "2.9"}, "torch (not known; 2.9)"),
    ],
)
def test_what_is_not_comparable_is_refused(changes: dict[str, Any], text: str) -> None:
    other = side("b", run("b", [1.0], circumstances=replace(HERE, **changes)))
    with pytest.raises(BadInput, match="not comparable") as refused:
        compared(of("a", 1.0), other)
    assert text in refused.value.message
    ignore = refused.value.remedy.partition("all the same: ")[2].split(" --ignore ")
    words = [word.removeprefix("--ignore ") for word in ignore]
    found = compared(of("a", 1.0), other, ignore=run_samples.ignored(words))
    assert {difference.key for difference in found.ignored} == set(changes)


@pytest.mark.parametrize(
    ("changes", "text", "ignore"),
    [
        ({"dtype": "bfloat16"}, "dtype (A: float32; B: bfloat16)", "dtype"),
        ({"placement": "out-of-place"}, "placement (A: in-place; B: out-of-place)", "placement"),
        ({"reduce_op": None}, "reduce-op (A: sum; B: None)", "reduce-op"),
        ({"bytes": 8}, "bytes (A: 1 MiB; B: 8 B)", ""),
    ],
)
def test_rows_of_other_things(changes: dict[str, Any], text: str, ignore: str) -> None:
    other = side("b", run("b", [], rows=(row(1.0, key=replace(KEY, **changes)),)))
    with pytest.raises(BadInput, match="no measurement in common") as refused:
        compared(of("a", 1.0), other)
    assert text in refused.value.message
    if ignore:
        assert len(compared(of("a", 1.0), other, ignore=run_samples.ignored([ignore])).rows) == 1


def test_rows_that_only_one_side_has_are_named() -> None:
    found = compared(side("a", run("a", [1.0, 2.0])), side("b", run("b", [1.0])))
    assert [key.bytes for key in found.only_a] == [2**21]
    assert found.only_b == ()


def test_rows_that_ignoring_makes_equal_are_refused() -> None:
    both = (row(1.0), row(1.0, key=replace(KEY, dtype="bfloat16")))
    with pytest.raises(BadInput, match="differ only in what --ignore names"):
        compared(side("a", run("a", [], rows=both)), of("b", 1.0), ignore=frozenset({"dtype"}))


def test_a_run_without_rows_and_a_wrong_word() -> None:
    with pytest.raises(BadInput, match="has no measurements"):
        compared(of("a", 1.0), side("b", run("b", [])))
    with pytest.raises(BadInput, match="'colour' is not a key"):
        run_samples.ignored(["colour"])


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


BASELINE = Baseline(
    name="night",
    created="",
    changed="",
    note="",
    runs=tuple(run(f"r{k}", [time]) for k, time in enumerate(STEADY)),
)


def _measured(mean: float, **changes: Any) -> Measurement:
    times = stats(mean, median=mean, p90=mean * 1.005)
    return measurement(time_s=times, busbw_bytes_per_s=1e6 / mean, **changes)


@pytest.mark.parametrize(
    ("row", "status", "reason"),
    [
        (_measured(1.0), "pass", ""),
        (_measured(1.5), "fail", ""),
        (_measured(0.5), "pass", ""),
        (_measured(1.5, wrong=3), "unknown", "its data is wrong"),
        (_measured(1.0, dtype="bfloat16"), "skip", "baseline night of 5 runs has no such measurement"),
    ],
)
def test_against_a_baseline(row: Measurement, status: str, reason: str) -> None:
    here = {"transport": "ib", "nics": HERE.nics, "gpu": HERE.gpu, "nodes": 2, "world_size": 16}
    unknown = {"backend": None, "backend_version": None, "torch": None}
    usual = _measured(1.0, bytes=8)
    eight = replace(
        BASELINE,
        runs=tuple(
            replace(
                each,
                rows=(*each.rows, replace(each.rows[0], key=replace(KEY, bytes=8))),
                circumstances=replace(HERE, tool="nccltool 0.1.0"),
            )
            for each in BASELINE.runs
        ),
    )
    found = judge.against(eight, info(**here, **unknown), (row, usual))
    assert (found[0].status, found[0].reason) == (status, reason)
    assert found[1].status == "pass"


def test_against_a_baseline_of_something_else() -> None:
    (found,) = judge.against(BASELINE, info(), (_measured(1.0),))
    assert found.status == "unknown"
    assert "transport (ib; not known)" in found.reason
    assert found.expected_busbw_bytes_per_s is None


def test_what_a_baseline_expects() -> None:
    (found,) = judge.summary(BASELINE)
    assert (found.runs, found.time_s, found.least_s, found.most_s) == (5, 1.0, 0.998, 1.002)
    assert found.spread == pytest.approx(0.0018, rel=0.1)
    (single,) = judge.summary(replace(BASELINE, runs=BASELINE.runs[:1]))
    assert single.spread is None
