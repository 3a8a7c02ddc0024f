"""The model and its data are the same in every process of a seed, and those of a step are its own."""

import pytest
import torch

from nccltool.train.job import TrainSpec
from nccltool.worker.train import transformer

pytestmark = [pytest.mark.torch, pytest.mark.quick]

SPEC = TrainSpec(strategies=("ddp",), layers=2, width=16, context=8, vocabulary=32)


def test_the_same_everywhere() -> None:
    torch.manual_seed(1)
    one = transformer.make(SPEC).state_dict()
    torch.manual_seed(2)
    other = transformer.make(SPEC).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one | other)
    first, again, second = (transformer.tokens_of(SPEC, number, 3) for number in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert first.shape == (3, SPEC.context + 1)
