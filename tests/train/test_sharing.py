"""How many ranks share a model, and how large it is then."""

from typing import Any

import pytest

from nccltool.train import sharing, strategies
from nccltool.train.job import TrainSpec
from nccltool.train.options import SIZES
from nccltool.train.strategies import tp_moe

SHARING = ("context", "model", "pipeline", "tensor", "three_d", "tp_fsdp", "tp_moe")
WORLDS = (8, 16, 24, 64, 72, 512, 4096, 10_000)


def spec_of(strategy: str, size: str = "tiny", **changes: Any) -> TrainSpec:
    fields: dict[str, Any] = {**SIZES[size], **changes}
    return TrainSpec(strategies=(strategy,), **fields)


def grown(strategy: str, world: int, size: str = "tiny", **changes: Any) -> tuple[int, dict[str, int]]:
    """(ranks of a replica, the sizes that have changed)."""
    spec = spec_of(strategy, size, **changes)
    shared = sharing.of(spec, strategy, world)
    assert shared.reason == ""
    sizes = {name: getattr(shared.spec, name) for name in sharing.SIZES}
    return shared.ranks, {name: number for name, number in sizes.items() if number != getattr(spec, name)}


@pytest.mark.parametrize(
    ("strategy", "world", "size", "ranks", "larger"),
    [
        ("tensor", 8, "tiny", 8, {"heads": 8}),
        ("tensor", 16, "tiny", 8, {"heads": 8}),
        ("tensor", 4096, "tiny", 8, {"heads": 8}),
        ("tensor", 6, "tiny", 6, {"heads": 6, "width": 96}),
        ("tensor", 5, "tiny", 5, {"heads": 5, "width": 80}),
        ("tensor", 8, "125m", 8, {"heads": 16}),
        ("tensor", 8, "1b", 8, {}),
        ("context", 8, "tiny", 8, {"heads": 8}),
        ("context", 6, "tiny", 6, {"heads": 6, "width": 96, "context": 36}),
        ("context", 12, "1b", 6, {"heads": 18, "width": 2160, "context": 1026}),
        ("pipeline", 8, "tiny", 8, {"layers": 6}),
        ("pipeline", 512, "tiny", 8, {"layers": 6}),
        ("pipeline", 8, "125m", 8, {}),
        ("model", 8, "tiny", 8, {"layers": 6}),
        ("model", 10, "tiny", 5, {}),
        ("three_d", 8, "tiny", 4, {}),
        ("tp_fsdp", 8, "tiny", 2, {}),
        ("tp_moe", 8, "tiny", 2, {}),
        ("ddp", 8, "tiny", 1, {}),
    ],
)
def test_the_rule(strategy: str, world: int, size: str, ranks: int, larger: dict[str, int]) -> None:
    assert grown(strategy, world, size) == (ranks, larger)


@pytest.mark.parametrize("strategy", strategies.NAMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("world", [1, 2, 4])
def test_up_to_four_ranks_nothing_grows(strategy: str, size: str, world: int) -> None:
    shared = sharing.of(spec_of(strategy, size), strategy, world)
    if shared.ranks:
        assert grown(strategy, world, size)[1] == {}
        assert shared.ranks in (1, 2, world)


@pytest.mark.parametrize("strategy", SHARING)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("world", WORLDS)
def test_every_way_that_shares_a_model_is_done_on_eight_gpus_a_host_and_the_model_stays_small(
    strategy: str, size: str, world: int
) -> None:
    spec = spec_of(strategy, size)
    ranks, _ = grown(strategy, world, size)
    assert 2 <= ranks <= sharing.MOST
    then = sharing.of(spec, strategy, world).spec
    assert then.width % then.heads == 0
    for name in ("heads", "width", "context", "batch"):
        assert getattr(spec, name) <= getattr(then, name) <= 2 * getattr(spec, name)
    assert spec.layers <= then.layers <= max(spec.layers, 6)


@pytest.mark.parametrize(
    ("strategy", "given", "options", "ranks"),
    [
        ("tensor", {"heads": 4}, {}, 4),
        ("tensor", {"heads": 2}, {}, 2),
        ("context", {"heads": 8, "context": 36}, {}, 4),
        ("pipeline", {"layers": 4}, {}, 4),
        ("pipeline", {"layers": 4}, {"schedule": "zbv"}, 2),
        ("model", {"layers": 1}, {}, 2),
    ],
)
def test_a_size_that_was_asked_for_stays_and_fewer_ranks_share_it(
    strategy: str, given: dict[str, Any], options: dict[str, Any], ranks: int
) -> None:
    assert grown(strategy, 8, given=tuple(given), options=options, **given) == (ranks, {})


@pytest.mark.parametrize(
    ("strategy", "world", "given", "options", "reason", "applies"),
    [
        ("tensor", 11, {}, {}, "11 ranks cannot be split into groups of 2 to 8", True),
        ("pipeline", 4099, {}, {}, "4099 ranks cannot be split into groups of 2 to 8", True),
        ("three_d", 6, {}, {}, "6 ranks cannot be split into groups of 4", True),
        ("three_d", 2, {}, {}, "2 ranks cannot be split into groups of 4", False),
        ("tp_fsdp", 1, {}, {}, "1 rank cannot be split into groups of 2", False),
        ("tensor", 8, {"heads": 3}, {}, "3 attention heads cannot be split across 2 ranks (--heads)", True),
        ("context", 8, {"context": 33}, {}, "33 tokens cannot be split across 2 ranks (--context)", True),
        ("tensor", 3, {"width": 64}, {}, "--width 64 cannot be divided by 6 attention heads", True),
        (
            "pipeline",
            8,
            {"layers": 1},
            {"schedule": "zbv"},
            "1 layers and both ends make 3 stages, but 4 are needed (--layers)",
            True,
        ),
    ],
)
def test_what_cannot_be_done(
    strategy: str, world: int, given: dict[str, Any], options: dict[str, Any], reason: str, applies: bool
) -> None:
    shared = sharing.of(spec_of(strategy, options=options, given=tuple(given), **given), strategy, world)
    assert (shared.ranks, shared.reason, shared.applies) == (0, reason, applies)


@pytest.mark.parametrize(("options", "batch"), [({}, 4), ({"micro_batches": 3}, 6), ({"micro_batches": 8}, 8)])
def test_each_micro_batch_of_a_pipeline_has_its_sequences(options: dict[str, int], batch: int) -> None:
    assert grown("pipeline", 2, options=options) == (2, {} if batch == 4 else {"batch": batch})


def test_a_model_that_was_made_for_other_ranks_stays_as_it_is() -> None:
    spec = TrainSpec(strategies=("tensor",))
    for_eight, for_four = (sharing.of(spec, "tensor", world).spec for world in (8, 4))
    assert (for_eight.heads, for_four.heads) == (8, 4)
    assert sharing.of(spec, "tensor", 4, made_for=8).spec.heads == 8
    on_more = sharing.of(spec, "tensor", 8, made_for=4)
    assert (on_more.ranks, on_more.spec.heads) == (4, 4)


@pytest.mark.parametrize(
    ("world", "replicas", "sharers"), [(2, 1, 1), (4, 1, 2), (6, 1, 3), (8, 1, 4), (16, 2, 4), (22, 11, 1)]
)
def test_pairs_of_a_host_share_experts(world: int, replicas: int, sharers: int) -> None:
    assert tp_moe.groups(world) == (replicas, sharers)
