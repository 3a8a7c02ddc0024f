"""Predicted against counted."""

from dataclasses import replace

from nccltool.plan.checked import checked
from nccltool.plan.counted import CountedCalls, CountedRank, CountOrder, CountResult
from nccltool.plan.layout import ParallelLayout
from tests.plan.samples import LLAMA_8B, recipe

MODEL = replace(LLAMA_8B, layers=4, width=256, heads=8, kv_heads=8, head_width=32, hidden=768, vocabulary=512)
ORDER = CountOrder(
    model=MODEL, layout=ParallelLayout(shard=2, sharding="parameters"), recipe=recipe(2, 256), rank=0
)
WHOLE, ROOT = MODEL.parameters, MODEL.embedding_weights + MODEL.head_weights
RIGHT = CountedRank(
    calls=(
        CountedCalls(operation="all_gather", ranks=2, count=9, bytes=4 * WHOLE - 2 * ROOT),
        CountedCalls(operation="reduce_scatter", ranks=2, count=5, bytes=4 * WHOLE),
    ),
    parameters=2 * WHOLE,
    gradients=2 * WHOLE,
    optimizer=4 * WHOLE,
    activations=13_000_000,
)


def wrong(rank: CountedRank) -> set[str]:
    return {row.what for row in checked("fsdp2", [ORDER], [CountResult(rank=rank)]).wrong}


def test_what_was_counted_is_as_predicted() -> None:
    assert wrong(RIGHT) == set()


def test_a_byte_more_is_a_difference() -> None:
    assert wrong(replace(RIGHT, optimizer=RIGHT.optimizer + 1)) == {"optimizer"}


def test_activations_may_differ_by_a_tenth() -> None:
    assert wrong(replace(RIGHT, activations=15_500_000)) == {"activations"}


def test_a_call_that_nobody_predicted_is_a_difference() -> None:
    more = CountedCalls(operation="broadcast", ranks=2, count=1, bytes=4)
    assert wrong(replace(RIGHT, calls=(*RIGHT.calls, more))) == {"broadcast calls", "broadcast bytes"}


def test_what_torch_refuses_is_said() -> None:
    found = checked("fsdp2", [ORDER], [CountResult(error="RuntimeError: no")])
    assert (found.rows, found.reason) == ((), "torch refused it: RuntimeError: no")
