"""Memory, against published tables and papers."""

from dataclasses import replace

import pytest
from benchmarks import plan as published

from nccltool.plan import memory, stages
from nccltool.plan.layout import ParallelLayout, Sharding
from tests.plan.samples import EXPERTS, LLAMA_8B, recipe

RIGHT = [row for row in published.MEMORY if "less power" not in row.name and "float8" not in row.note]


@pytest.mark.parametrize("row", RIGHT, ids=lambda row: row.name)
def test_reserved_memory_is_that_of_published_runs(row: published.Published) -> None:
    assert row.gib
    assert published.planned_gib(row) == pytest.approx(row.gib, rel=0.10)


ZERO = {
    (8, "none"): 120.0,
    (8, "optimizer"): 41.25,
    (8, "gradients"): 28.12,
    (8, "parameters"): 15.0,
    (64, "optimizer"): 31.41,
    (64, "gradients"): 16.64,
    (64, "parameters"): 1.88,
    (1024, "optimizer"): 30.09,
    (1024, "gradients"): 15.10,
    (1024, "parameters"): 0.12,
}
"""GB of parameters, gradients, and optimizer state of 7.5 billion parameters: figure 1 of the ZeRO paper."""


@pytest.mark.parametrize(("ranks", "sharding"), ZERO)
def test_the_state_is_that_of_the_zero_paper(ranks: int, sharding: Sharding) -> None:
    shard = 1 if sharding == "none" else ranks
    layout = ParallelLayout(replicate=ranks // shard, shard=shard, sharding=sharding)
    found = memory.of_rank(LLAMA_8B, layout, recipe(ranks, precision="amp"), 0, 2)
    state = (found.parameters + found.gradients + found.optimizer) / LLAMA_8B.parameters * 7.5
    assert state == pytest.approx(ZERO[ranks, sharding], abs=0.011)


def test_the_peak_is_one_instant_and_no_sum() -> None:
    found = memory.of(LLAMA_8B, ParallelLayout(shard=8, sharding="parameters", micro_batch=2), recipe(16))
    assert found.instant == "loss"
    assert found.gradients == 0  # the first backward pass has not begun
    assert found.reserved > found.allocated * memory.RESERVED  # but their blocks stay with the allocator
    assert found.total == found.reserved + found.context + found.communication


@pytest.mark.parametrize(
    ("schedule", "rank", "more"),
    [("1f1b", 0, 4), ("1f1b", 3, 1), ("gpipe", 0, 16), ("gpipe", 3, 16), ("interleaved", 0, 5.5), ("zbv", 3, 4)],
)
def test_a_pipeline_holds_micro_batches_in_flight(schedule: str, rank: int, more: float) -> None:
    """Counted in torch's own schedules with 4 ranks and 16 micro-batches."""
    layout = ParallelLayout(pipeline=4, schedule=schedule)
    weights = stages.of_rank(LLAMA_8B, layout, rank)
    one, found = (
        memory.of_activations(LLAMA_8B, weights, layout, recipe(16), count, False)
        for count in (1, stages.in_flight(layout, rank, 16))
    )
    assert found == pytest.approx(more * one, rel=1e-6)


def test_more_recomputation_needs_less() -> None:
    sizes = [
        memory.of(LLAMA_8B, ParallelLayout(shard=8, sharding="parameters", recompute=how), recipe(8)).total
        for how in ("none", "selective", "full")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


@pytest.mark.parametrize("more", [{"tensor": 4}, {"context": 4}, {"pipeline": 4}, {"shard": 8}], ids=str)
def test_every_degree_makes_it_smaller(more: dict[str, int]) -> None:
    base = ParallelLayout(shard=2, sharding="parameters")
    wider = replace(base, **more)  # type: ignore[arg-type]
    assert memory.of(LLAMA_8B, wider, recipe(8)).allocated < memory.of(LLAMA_8B, base, recipe(8)).allocated


@pytest.mark.parametrize(
    ("sharding", "on_host"),
    [("optimizer", ("optimizer",)), ("gradients", ("gradients", "optimizer")),
     ("parameters", ("parameters", "gradients", "optimizer"))],
)  # fmt: skip
def test_what_is_offloaded_is_on_the_host(sharding: Sharding, on_host: tuple[str, ...]) -> None:
    layout = ParallelLayout(shard=8, sharding=sharding)
    here, there = (
        memory.of_rank(LLAMA_8B, layout, recipe(16, precision="amp", is_offloaded=is_offloaded), 0, 2)
        for is_offloaded in (False, True)
    )
    assert here.host == 0
    sizes = memory.states_of(LLAMA_8B, layout, recipe(16, precision="amp"), 0)
    state = dict(zip(("parameters", "gradients", "optimizer"), sizes, strict=True))
    assert there.host == sum(state[name] for name in on_host)
    assert there.optimizer == 0
    assert there.total < here.total


def test_405b_with_offload_is_near_the_published_run() -> None:
    """64 H100: 52.9 GB in use (Lambda's distributed training guide, chapter 5)."""
    model = replace(LLAMA_8B, layers=126, width=16384, heads=128, hidden=53248)
    layout = ParallelLayout(shard=64, sharding="parameters", recompute="full")
    needed = memory.of(model, layout, recipe(64, sequence=4096, precision="bf16", is_offloaded=True))
    assert needed.allocated == pytest.approx(52.9e9, rel=0.2)


@pytest.mark.parametrize(
    ("layout", "precision", "weights"),
    [
        # 260 weights without experts, and of experts 240 with ep 2
        (ParallelLayout(replicate=4, expert=2), "fp32", (500, 500, 500)),
        # torch deals 88, 88, 40, 40, 4 to four ranks: 88 at most; and 120, 120 to the two with the same experts
        (ParallelLayout(shard=4, sharding="optimizer", expert=2), "fp32", (500, 500, 88 + 120)),
        # ep 4: 60 and 60, which one rank alone has
        (ParallelLayout(shard=4, sharding="optimizer", expert=4), "fp32", (380, 380, 88 + 120)),
        # with master weights tensors are cut: 260 / 4 + 240 / 2 = 185
        (ParallelLayout(shard=4, sharding="optimizer", expert=2), "amp", (500, 500, 185)),
        (ParallelLayout(shard=4, sharding="gradients", expert=2), "fp32", (500, 185, 185)),
        (ParallelLayout(shard=4, sharding="parameters", expert=2), "fp32", (185, 185, 185)),
        (ParallelLayout(replicate=2, shard=4, sharding="parameters", expert=2), "fp32", (185, 185, 185)),
        # tp 2: 140 / 4 without experts, and 120 / 2 of them, whole on each of 8 ranks
        (ParallelLayout(shard=4, sharding="parameters", tensor=2, expert=4), "fp32", (95, 95, 95)),
        # cp 2: 260 / 8 = 32.5 and 240 / 4
        (ParallelLayout(shard=4, sharding="parameters", context=2, expert=2), "fp32", (93, 93, 93)),
    ],
    ids=lambda value: value.name if isinstance(value, ParallelLayout) else None,
)  # fmt: skip
def test_experts_are_split_between_ranks_that_have_the_same_ones(
    layout: ParallelLayout, precision: str, weights: tuple[int, int, int]
) -> None:
    """AdamW: two moments of four bytes, and with amp a master weight."""
    each = (2, 2, 12) if precision == "amp" else (4, 4, 8)
    found = memory.states_of(EXPERTS, layout, recipe(8, precision=precision), 0)
    assert found == tuple(number * size for number, size in zip(weights, each, strict=True))


@pytest.mark.parametrize(
    ("layout", "groups"),
    [
        (ParallelLayout(shard=8, sharding="parameters"), 1),
        (ParallelLayout(shard=8, sharding="parameters", expert=2), 3),  # experts in pairs, the same in fours
        (ParallelLayout(shard=4, sharding="parameters", expert=4), 2),  # nobody has the same
    ],
)
def test_ranks_with_the_same_experts_have_a_communicator(layout: ParallelLayout, groups: int) -> None:
    found = memory.of_rank(EXPERTS, layout, recipe(8, sequence=16), 0, 1).communication
    assert found == memory.FIRST_GROUP + (groups - 1) * memory.MORE_GROUPS


@pytest.mark.parametrize(
    ("replicate", "expert", "copied"),
    [(4, 1, 740), (4, 2, 500), (4, 4, 260)],  # ep 4: experts without replicas are not reduced
)
def test_gradients_that_are_reduced_have_a_copy(replicate: int, expert: int, copied: int) -> None:
    found = memory.of_rank(
        EXPERTS, ParallelLayout(replicate=replicate, expert=expert), recipe(8, 16, "fp32"), 0, 2
    )
    assert found.unsharded == 4 * copied
