"""Series of runs: which strategies are on a curve, one model for all runs, and batches that can be split."""

from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.train import series, sharing, strategies
from nccltool.train.job import TrainSpec
from nccltool.train.options import SIZES

WORLDS = (1, 2, 3, 4, 8)


def spec_of(*names: str, **changes: Any) -> TrainSpec:
    return TrainSpec(strategies=names, **{**SIZES["tiny"], **changes})


@pytest.mark.parametrize("strategy", [name for name in strategies.NAMES if name != "dp"])
def test_every_strategy_but_one_has_a_curve_of_one_model(strategy: str) -> None:
    made = series.of(spec_of(strategy), WORLDS, None)
    assert len(made.strategies) >= 2
    spec = spec_of(strategy, batch=made.sequences, given=("batch",), series=WORLDS)
    shapes = set()
    for ranks in made.strategies:
        shared = sharing.of(spec, strategy, ranks)
        assert shared.reason == ""
        shapes.add(tuple(getattr(shared.spec, name) for name in sharing.SIZES))
    assert len(shapes) == 1


@pytest.mark.parametrize(
    ("strategy", "left_out"),
    [
        ("ddp", {}),
        ("tensor", {}),
        ("model", {"ranks": (1,), "reason": "its layers need 2 ranks"}),
        ("tp_fsdp", {"ranks": (1, 3), "reason": "1 rank cannot be split into groups of 2"}),
        ("three_d", {"ranks": (1, 2, 3), "reason": "1 rank cannot be split into groups of 4"}),
    ],
)
def test_what_has_no_point(strategy: str, left_out: dict[str, Any]) -> None:
    made = series.of(spec_of(strategy, "fsdp"), WORLDS, None)
    assert made.left_out == ((series.LeftOut(of=strategy, **left_out),) if left_out else ())
    assert all(
        (strategy in names) == (ranks not in left_out.get("ranks", ())) for ranks, names in made.strategies.items()
    )


def test_a_model_for_all_numbers_of_ranks_is_as_small_as_they_permit() -> None:
    shared = sharing.of(spec_of("tensor", series=(3, 8)), "tensor", 3)
    assert (shared.ranks, shared.spec.heads, shared.spec.width) == (3, 24, 192)


@pytest.mark.parametrize(
    ("spec", "worlds", "said", "remedy"),
    [
        (spec_of("dp"), WORLDS, "dp has no curve over these numbers of ranks: it runs in one process", "another"),
        (spec_of("ddp", "three_d"), (1, 2, 4), "3d has no curve", "--scaling 4,8,12"),
        (spec_of("tensor"), (11, 13, 4), "11 ranks cannot be split into groups of 2 to 8", "--scaling 1,2,3"),
    ],
)
def test_what_has_no_curve(spec: TrainSpec, worlds: tuple[int, ...], said: str, remedy: str) -> None:
    with pytest.raises(BadInput, match=said) as raised:
        series.of(spec, worlds, None)
    assert remedy in raised.value.remedy


@pytest.mark.parametrize(
    ("spec", "sequences", "unit"),
    [
        (spec_of("ddp"), 4, 1),
        (spec_of("ddp", options={"accumulate": 3}, batch=4), 6, 3),
        (spec_of("pipeline"), 4, 2),
        (spec_of("pipeline", "fsdp", options={"accumulate": 3}), 6, 6),
    ],
)
def test_sequences_that_every_run_can_split(spec: TrainSpec, sequences: int, unit: int) -> None:
    made = series.of(spec, (1, 2, 4), None)
    assert (made.sequences, made.unit) == (sequences, unit)


def test_of_all_strategies_a_run_leaves_out_what_is_not_meant_for_it() -> None:
    made = series.of(spec_of(*strategies.NAMES, is_all=True), (1, 2), 8)
    assert (made.strategies, made.sequences, made.left_out) == ({1: "all", 2: "all"}, 8, ())
