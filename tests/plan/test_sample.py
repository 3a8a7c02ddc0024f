"""Small models for counting, and what cannot be counted."""

import pytest

from nccltool.plan import models, sample
from nccltool.plan.layout import ParallelLayout, impossible
from tests.plan.samples import LLAMA_8B, recipe


@pytest.mark.parametrize(
    "layout",
    [
        ParallelLayout(replicate=64),
        ParallelLayout(replicate=16, shard=8, sharding="parameters", tensor=8),
        ParallelLayout(shard=4, sharding="parameters", context=4),
        ParallelLayout(pipeline=4, schedule="interleaved"),
        ParallelLayout(pipeline=8, schedule="zbv"),
    ],
    ids=lambda layout: layout.name,
)
@pytest.mark.parametrize("name", ["llama-3-8b", "gpt2", "llama-3.2-1b"])
def test_a_sample_is_small_and_possible(name: str, layout: ParallelLayout) -> None:
    model, small, batch = sample.sampled(models.of_word(name), layout, recipe(layout.data * 16))
    assert list(impossible(small, model, batch)) == []
    assert model.parameters < 50e6
    degrees = ("tensor", "context", "pipeline", "schedule", "recompute", "sharding")
    assert all(getattr(small, degree) == getattr(layout, degree) for degree in degrees)
    assert small.data <= 16


@pytest.mark.parametrize(
    ("name", "layout", "precision", "reason"),
    [
        ("llama-3-8b", ParallelLayout(shard=8, sharding="gradients"), "mixed", "ZeRO 2"),
        ("mixtral-8x7b", ParallelLayout(replicate=8), "mixed", "ordinary attention and MLPs"),
        ("deepseek-v3", ParallelLayout(replicate=8), "mixed", "ordinary attention and MLPs"),
        ("llama-3-8b", ParallelLayout(replicate=8), "amp", "master weights"),
        ("llama-3-8b", ParallelLayout(tensor=16), "bf16", "8 key and value heads"),
        ("llama-3-8b", ParallelLayout(tensor=8), "mixed", "autocast"),
        ("gpt2", ParallelLayout(tensor=4), "bf16", "learned positions"),
        ("llama-3-8b", ParallelLayout(context=2), "bf16", "with fsdp only"),
    ],
)
def test_what_torch_cannot_show(name: str, layout: ParallelLayout, precision: str, reason: str) -> None:
    found = list(sample.refused(models.of_word(name), layout, recipe(16, precision=precision)))
    assert any(reason in one for one in found)


def test_what_is_usual_can_be_shown() -> None:
    assert list(sample.refused(LLAMA_8B, ParallelLayout(shard=8, sharding="parameters"), recipe(16))) == []
