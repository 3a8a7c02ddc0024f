"""Parameters one by one, buckets, and shares."""

import pytest

from nccltool.plan import models, parameter_sizes, stages
from nccltool.plan.layout import ParallelLayout

_MIB = 2**18
"""Elements of four bytes."""


@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b", "llama-3.2-1b"])
def test_they_are_all_of_the_model(name: str) -> None:
    model = models.of_word(name)
    assert sum(parameter_sizes.of_rank(model, ParallelLayout(), 0)) == model.parameters


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3"])
def test_all_reduce_what_all_have(name: str) -> None:
    model, layout = models.of_word(name), ParallelLayout(replicate=8, expert=8)
    weights = stages.of_rank(model, layout, 0)
    for tensors, whole in (
        (parameter_sizes.of_rank(model, layout, 0), weights.total),
        (parameter_sizes.reduced(model, layout, 0), weights.total - weights.routed),
    ):
        assert 0 <= whole - sum(tensors) < model.layers


@pytest.mark.parametrize(
    ("mib", "buckets"),
    [((0.5,), 1), ((0.5, 0.5), 1), ((1, 1), 2), ((10, 10, 10, 1), 2), ((10, 10, 10, 10, 1), 3), ((100, 1), 2)],
)
def test_a_bucket_is_closed_when_it_is_full(mib: tuple[float, ...], buckets: int) -> None:
    """The last parameter is ready first; the first bucket has 1 MiB, the others 25."""
    assert parameter_sizes.buckets(tuple(int(one * _MIB) for one in mib), 4) == buckets


def test_the_largest_tensors_are_dealt_first() -> None:
    assert parameter_sizes.dealt((1, 2, 3, 4), 2) == (5, 5)
    assert parameter_sizes.dealt((8, 1, 1), 2) == (8, 2)
    assert parameter_sizes.dealt((8,), 4) == (8, 0, 0, 0)
