import pytest

from nccltool.plan import models
from nccltool.plan.layout import ParallelLayout, impossible
from tests.plan.samples import LLAMA_8B, recipe


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        (ParallelLayout(), "one GPU"),
        (ParallelLayout(replicate=8), "ddp8"),
        (ParallelLayout(shard=8, sharding="optimizer"), "zero1-8"),
        (ParallelLayout(shard=8, sharding="gradients"), "zero2-8"),
        (ParallelLayout(shard=8, sharding="parameters"), "fsdp8"),
        (ParallelLayout(replicate=4, shard=8, sharding="parameters"), "hsdp4x8"),
        (ParallelLayout(shard=4, sharding="parameters", tensor=8, pipeline=2), "fsdp4+tp8+pp2"),
        (ParallelLayout(sharding="parameters", context=4), "fsdp+cp4"),
        (ParallelLayout(tensor=2), "tp2"),
        (ParallelLayout(replicate=8, expert=4), "ddp8+ep4"),
    ],
)
def test_a_layout_is_named_after_its_degrees(layout: ParallelLayout, name: str) -> None:
    assert layout.name == name


@pytest.mark.parametrize(
    ("layout", "batch", "said"),
    [
        (ParallelLayout(tensor=3), 8, "32 heads (8 for keys and values) cannot be split over tp 3"),
        (ParallelLayout(context=3), 8, "--sequence 8192 cannot be split over cp 3: use a multiple of 6"),
        (ParallelLayout(pipeline=64), 64, "32 layers are fewer than the 64 stages of pp 64"),
        (ParallelLayout(replicate=2, expert=2), 8, "ep 2 needs experts, and llama-3-8b has none"),
        (
            ParallelLayout(replicate=3),
            8,
            "--step-sequences 8 cannot be split over 3 data-parallel ranks with 1 sequences each",
        ),
        (
            ParallelLayout(pipeline=2, schedule="interleaved"),
            3,
            "the schedule interleaved needs a multiple of pp 2",
        ),
    ],
)
def test_what_cannot_be_says_why(layout: ParallelLayout, batch: int, said: str) -> None:
    reasons = list(impossible(layout, LLAMA_8B, recipe(batch)))
    assert [reason for reason in reasons if said in reason]


def test_experts_that_cannot_be_split() -> None:
    mixtral = models.of_word("mixtral-8x7b")
    assert list(impossible(ParallelLayout(replicate=3, expert=3), mixtral, recipe(9))) == [
        "8 experts cannot be split over ep 3"
    ]
    assert list(impossible(ParallelLayout(replicate=2, expert=4), mixtral, recipe(8))) == [
        "ep 4 must divide the 2 data-parallel ranks"
    ]
    hybrid = ParallelLayout(replicate=2, shard=4, sharding="parameters", expert=8)
    assert list(impossible(hybrid, mixtral, recipe(8))) == ["ep 8 must divide the 4 ranks that split the state"]


def test_what_can_be_has_no_reason() -> None:
    assert list(impossible(ParallelLayout(shard=8, sharding="parameters", tensor=8), LLAMA_8B, recipe(8))) == []
