"""Collectives of a step, against what a dispatch mode counted in torch 2.13, and counted by hand."""

import pytest

from nccltool.plan import calls
from nccltool.plan.calls import CollectiveCalls
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recompute
from tests.plan.samples import EXPERTS, LLAMA_8B, recipe

SMALL = Model(name="small", layers=4, width=256, heads=4, kv_heads=4, head_width=64, hidden=768, vocabulary=2048)


def of(model: Model, layout: ParallelLayout, micro_batches: int = 1) -> dict[tuple[str, str], CollectiveCalls]:
    batch = layout.data * layout.micro_batch * micro_batches
    return {(one.operation, one.axis): one for one in calls.of(model, layout, recipe(batch))}


def test_fsdp_gathers_blocks_twice_and_the_root_once() -> None:
    found = of(SMALL, ParallelLayout(shard=4, sharding="parameters"))
    root = SMALL.embedding_weights + SMALL.head_weights
    gather, reduce = found["all_gather", "shard"], found["reduce_scatter", "shard"]
    assert (gather.count, gather.bytes) == (2 * (4 + 1) - 1, 4 * SMALL.parameters - 2 * root)
    assert (reduce.count, reduce.bytes) == (4 + 1, 4 * SMALL.parameters)
    assert len(found) == 2


def test_the_bytes_of_a_counted_run() -> None:
    """A Llama of 4,708,608 parameters: torch gathered 17,809,920 bytes."""
    parameters, gathered = 4_708_608, 17_809_920
    root = (4 * parameters - gathered) // 2
    model = Model(
        name="counted", layers=4, width=256, heads=4, kv_heads=4, head_width=64, hidden=1024, vocabulary=1000
    )
    assert model.embedding_weights + model.head_weights == root - (root - 2 * 1000 * 256 - 256)
    found = of(model, ParallelLayout(shard=8, sharding="parameters"))
    assert found["all_gather", "shard"].bytes == 4 * model.parameters - 2 * (2 * 1000 * 256 + 256)
    assert model.parameters == parameters


def test_fsdp_of_replicas_reduces_shards_between_them() -> None:
    found = of(SMALL, ParallelLayout(replicate=2, shard=4, sharding="parameters"))
    between = found["all_reduce", "replicate"]
    assert (between.ranks, between.count, between.bytes) == (2, 5, 4 * SMALL.parameters // 4)


def test_accumulation_gathers_each_time() -> None:
    once, thrice = (
        of(SMALL, ParallelLayout(shard=4, sharding="parameters"), micro_batches=many) for many in (1, 3)
    )
    for key in once:
        assert thrice[key].count == 3 * once[key].count
        assert thrice[key].bytes == 3 * once[key].bytes


def test_in_a_pipeline_fsdp_gathers_once_per_step() -> None:
    found = of(SMALL, ParallelLayout(shard=4, sharding="parameters", pipeline=2), micro_batches=8)
    assert found["all_gather", "shard"].count == 2 + 1
    between = found["send_recv", "pipeline"]
    assert (between.count, between.bytes) == (8, 8 * 8192 * 256 * 2)


def test_ddp_reduces_all_gradients_once() -> None:
    found = of(LLAMA_8B, ParallelLayout(replicate=8), micro_batches=4)
    assert list(found) == [("all_reduce", "data")]
    assert found["all_reduce", "data"].bytes == 4 * LLAMA_8B.parameters
    # embedding, output, and of 32 layers: down, up, gate, out, key with value, and query
    assert found["all_reduce", "data"].count == 2 + 32 * 6


def test_zero_1_sends_updated_parameters_too() -> None:
    found = of(SMALL, ParallelLayout(shard=4, sharding="optimizer"))
    assert found["broadcast", "data"].bytes == 4 * SMALL.parameters
    assert found["all_reduce", "data"].bytes == 4 * SMALL.parameters


def test_tensor_parallelism_gathers_and_scatters_around_attention_and_mlp() -> None:
    activation = 8192 * 256 * 2
    ways: tuple[Recompute, ...] = ("none", "full")
    plain, again = (of(SMALL, ParallelLayout(tensor=2, recompute=how)) for how in ways)
    ends = 2  # around the embedding and the output projection
    assert plain["all_gather", "tensor"].count == plain["reduce_scatter", "tensor"].count == 4 * 4 + ends
    assert plain["all_gather", "tensor"].bytes == (16 + ends) * activation
    assert again["all_gather", "tensor"].count == 6 * 4 + ends
    assert again["reduce_scatter", "tensor"].count == 5 * 4 + ends
    reduced = plain["all_reduce", "tensor"]  # norms of layers and of the end; thrice for the loss
    assert (reduced.count, reduced.bytes) == (9 + 3, 9 * 256 * 2 + 3 * 8192 * 4)


def test_one_gpu_calls_nothing() -> None:
    assert of(LLAMA_8B, ParallelLayout()) == {}


def test_keys_and_values_go_round_a_ring_and_their_gradients_home() -> None:
    """Counted in torch's ring attention: 2 (c - 1) messages in 16 bits, c in float32."""
    found = of(SMALL, ParallelLayout(context=4, sharding="parameters"))["send_recv", "context"]
    message = 2 * 8192 // 4 * 256
    assert (found.count, found.bytes) == (4 * 10, 4 * message * (6 * 2 + 4 * 4))


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        # ep 2: each rank has two experts of each layer, 2 * 2 * 60 = 240 weights; 4 / 2 = 2 ranks have the same
        (ParallelLayout(replicate=4, expert=2),
         [("all_reduce", "data", 4, 1, 4 * 260), ("all_reduce", "replicate", 2, 1, 4 * 240)]),
        # five tensors: embedding, two layers, norm, output; and the experts of two layers
        (ParallelLayout(shard=4, sharding="optimizer", expert=2),
         [("all_reduce", "data", 4, 1, 4 * 260), ("all_reduce", "replicate", 2, 1, 4 * 240),
          ("broadcast", "data", 4, 5, 4 * 260), ("broadcast", "replicate", 2, 2, 4 * 240)]),
        # two layers and the root
        (ParallelLayout(shard=4, sharding="gradients", expert=2),
         [("reduce_scatter", "data", 4, 3, 4 * 260), ("all_gather", "data", 4, 3, 4 * 260),
          ("reduce_scatter", "replicate", 2, 2, 4 * 240), ("all_gather", "replicate", 2, 2, 4 * 240)]),
        # layers twice and the root of 84 once: 2 * 176 + 84 = 436; experts twice
        (ParallelLayout(shard=4, sharding="parameters", expert=2),
         [("all_gather", "shard", 4, 5, 4 * 436), ("reduce_scatter", "shard", 4, 3, 4 * 260),
          ("all_gather", "shard", 2, 4, 4 * 480), ("reduce_scatter", "shard", 2, 2, 4 * 240)]),
        # replicas of 4 shards: a rank has 260 / 4 = 65 and 240 / 2 = 120 of them
        (ParallelLayout(replicate=2, shard=4, sharding="parameters", expert=2),
         [("all_gather", "shard", 4, 5, 4 * 436), ("reduce_scatter", "shard", 4, 3, 4 * 260),
          ("all_reduce", "replicate", 2, 3, 4 * 65),
          ("all_gather", "shard", 2, 4, 4 * 480), ("reduce_scatter", "shard", 2, 2, 4 * 240),
          ("all_reduce", "replicate", 2, 2, 4 * 120)]),
        # ep 4: one expert of each layer, 120 weights, which no other rank of a replica has
        (ParallelLayout(replicate=2, shard=4, sharding="parameters", expert=4),
         [("all_gather", "shard", 4, 5, 4 * 436), ("reduce_scatter", "shard", 4, 3, 4 * 260),
          ("all_reduce", "replicate", 2, 3, 4 * 65), ("all_reduce", "replicate", 2, 2, 4 * 120)]),
        # the first stage has a layer and the embedding, 88 + 40, and gathers them once; of experts 2 * 60
        (ParallelLayout(shard=4, sharding="parameters", expert=2, pipeline=2),
         [("all_gather", "shard", 4, 2, 4 * 128), ("reduce_scatter", "shard", 4, 2, 4 * 128),
          ("all_gather", "shard", 2, 1, 4 * 120), ("reduce_scatter", "shard", 2, 1, 4 * 120)]),
        # tp 2 splits layers into 80 / 2 + 8 = 48, ends into 20 + 20 + 4: 140. Experts, 2 * 60, stay whole, and of
        # 4 * 2 ranks, 8 / 4 = 2 have the same ones
        (ParallelLayout(replicate=4, tensor=2, expert=4),
         [("all_reduce", "data", 4, 1, 4 * 140), ("all_reduce", "replicate", 2, 1, 4 * 120)]),
        # 2 * 96 + 44 = 236
        (ParallelLayout(shard=4, sharding="parameters", tensor=2, expert=4),
         [("all_gather", "shard", 4, 5, 4 * 236), ("reduce_scatter", "shard", 4, 3, 4 * 140),
          ("all_gather", "shard", 2, 4, 4 * 240), ("reduce_scatter", "shard", 2, 2, 4 * 120)]),
    ],
    ids=lambda value: value.name if isinstance(value, ParallelLayout) else "",
)  # fmt: skip
def test_experts_travel_between_ranks_that_have_the_same_ones(
    layout: ParallelLayout, expected: list[tuple[object, ...]]
) -> None:
    """Four bytes for each weight."""
    found = calls.of(EXPERTS, layout, recipe(layout.data, sequence=16, precision="fp32"))
    of_data = [one for one in found if one.axis in ("data", "shard", "replicate")]
    assert [(one.operation, one.axis, one.ranks, one.count, one.bytes) for one in of_data] == expected


def test_each_micro_batch_reduces_gradients_of_experts() -> None:
    layout = ParallelLayout(shard=4, sharding="gradients", expert=2)
    found = of(EXPERTS, layout, micro_batches=3)
    assert found["reduce_scatter", "replicate"].bytes == 3 * 4 * 240
    assert found["all_gather", "replicate"].count == 2  # once, in two layers
