from nccltool.plan import models, search
from nccltool.plan.search import Wanted
from tests.plan.samples import LLAMA_8B, recipe


def test_every_shape_uses_all_gpus_once() -> None:
    shapes = list(search.shapes(LLAMA_8B, Wanted(gpus=48), 32768, 8))
    assert {shape.gpus for shape in shapes} == {48}
    assert len(set(shapes)) == len(shapes)
    assert max(shape.tensor for shape in shapes) == 8
    assert {shape.context for shape in shapes} == {1, 2, 4}  # a slice has at least 8,192 tokens


def test_fixed_degrees_are_kept() -> None:
    wanted = Wanted(gpus=64, tensor=4, pipeline=2, context=1, strategies=("fsdp",))
    assert [shape.name for shape in search.shapes(LLAMA_8B, wanted, 8192, 8)] == ["fsdp8+tp4+pp2"]


def test_experts_are_split_in_all_ways_that_come_out_even() -> None:
    mixtral = models.of_word("mixtral-8x7b")
    wanted = Wanted(gpus=8, tensor=1, pipeline=1, strategies=("fsdp",))
    assert [shape.expert for shape in search.shapes(mixtral, wanted, 4096, 8)] == [1, 2, 4, 8]


def test_zero_2_is_not_combined_with_a_pipeline() -> None:
    shapes = search.shapes(LLAMA_8B, Wanted(gpus=16), 8192, 8)
    assert not [shape.name for shape in shapes if shape.strategy == "zero2" and shape.pipeline > 1]


def test_micro_batches_come_out_even_and_recompute_more_and_more() -> None:
    shape = next(search.shapes(LLAMA_8B, Wanted(gpus=8, strategies=("fsdp",), tensor=1, pipeline=1), 8192, 8))
    ways = list(search.batches(shape, LLAMA_8B, recipe(24)))
    assert [[layout.micro_batch for layout in group] for group in ways] == [[1, 1, 1]]
    assert [layout.recompute for layout in ways[0]] == ["none", "selective", "full"]
    ways = list(search.batches(shape, LLAMA_8B, recipe(32, recompute="full", micro_batch=4)))
    assert [(layout.micro_batch, layout.recompute) for group in ways for layout in group] == [(4, "full")]


def test_stages_of_a_rank_are_tried_where_a_schedule_takes_any_number() -> None:
    """126 layers on 16 ranks are 8 on most: in 2, 4, or 8 stages; 8 would be more stages than layers."""
    model = models.of_word("llama-3-405b")
    wanted = Wanted(gpus=128, tensor=8, pipeline=16, strategies=("none",), schedule="interleaved")
    assert [shape.stages for shape in search.shapes(model, wanted, 8192, 8)] == [2, 4]
    wanted = Wanted(gpus=128, tensor=8, pipeline=16, strategies=("none",))
    assert [shape.stages for shape in search.shapes(model, wanted, 8192, 8)] == [1]
