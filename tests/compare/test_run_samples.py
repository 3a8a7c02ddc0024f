"""What must be alike for two runs to be comparable, and what --ignore lets pass."""

import math
from dataclasses import replace
from typing import Any

import pytest

from nccltool.compare import run_samples
from nccltool.core.errors import BadInput
from nccltool.probe.result import RowGroup
from tests.compare.samples import HERE, KEY, compared, of, row, run, side
from tests.samples import info, measurement, stats


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"transport": "socket"}, "transport (ib; socket)"),
        ({"transport": None}, "transport (ib; unknown)"),
        ({"gpu": ""}, "gpu (NVIDIA H200; no GPU)"),
        ({"nodes": 4, "ranks": 32}, "nodes (2; 4), ranks (16; 32)"),
        ({"torch": "2.9"}, "torch (unknown; 2.9)"),
    ],
)
def test_what_is_not_comparable_is_refused(changes: dict[str, Any], text: str) -> None:
    other = side("b", run("b", [1.0], circumstances=replace(HERE, **changes)))
    with pytest.raises(BadInput, match="not comparable") as refused:
        compared(of("a", 1.0), other)
    assert text in refused.value.message
    ignore = refused.value.remedy.partition("to compare them anyway: ")[2].split(" --ignore ")
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


def test_a_run_without_rows_and_a_wrong_word() -> None:
    with pytest.raises(BadInput, match="has no measurements"):
        compared(of("a", 1.0), side("b", run("b", [])))
    with pytest.raises(BadInput, match="'colour' is not a key"):
        run_samples.ignored(["colour"])


@pytest.mark.parametrize(
    ("times", "iterations", "spread"),
    [
        ({"median": 1.0, "p90": 1.2, "p99": None}, 50, math.log(1.2) / 1.2816),
        ({"median": 1.0, "p90": 1.2, "p99": 3.0}, 500, math.log(3.0) / 2.3263),
        ({"median": 0.5, "p90": 0.9, "p99": None}, 50, 0.0),  # the mean is beyond: the tail says the rest
        ({"median": None, "p90": None, "p99": 2.0}, 200, math.log(2.0) / 2.3263),
        ({"median": None, "p90": None, "p99": None}, None, None),
        ({"median": 1.0, "p90": 1.0, "p99": None}, 4, None),  # too few to say
    ],
)
def test_the_spread_of_iterations(times: dict[str, Any], iterations: int, spread: float | None) -> None:
    measured = measurement(time_s=stats(1.0, **times), iterations=iterations)
    (found,) = run_samples.of_run(info(), [measured]).rows
    assert found.spread == (None if spread is None else pytest.approx(spread))
    assert found.seconds == 1.0


def test_a_row_of_a_group_is_not_that_of_all_ranks() -> None:
    of = RowGroup(name="node 1", world_size=4)
    rows = [measurement(), measurement(group=of), measurement(group=replace(of, alone=True))]
    keys = [run_samples.key_of(row) for row in rows]
    assert [key.of_group for key in keys] == [None, "node 1 (4 ranks)", "node 1 alone (4 ranks)"]
    assert len({run_samples.without(key, frozenset()) for key in keys}) == 3
    said = list(run_samples.row_differences(keys[:1], keys[1:]))
    assert said == ["of-group (A: all ranks; B: node 1 (4 ranks), node 1 alone (4 ranks))"]
