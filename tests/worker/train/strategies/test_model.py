"""Layers on two devices by hand, in one process."""

import pytest
import torch

from nccltool.train.job import TrainSpec
from nccltool.worker.train import transformer

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while it is imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

SPEC = TrainSpec(strategies=("model",), layers=2)


def test_the_second_half_of_the_layers_is_on_the_second_device() -> None:
    from nccltool.worker.train.strategies.model import Halves

    devices = [torch.device("cpu"), torch.device("meta")]  # which holds no numbers
    halves = Halves(list(transformer.make(SPEC)), devices)
    held = [next(part.parameters()).device.type for part in halves]
    assert held == ["cpu", "cpu", "meta", "meta"]
    scores = halves(transformer.tokens_of(SPEC, 1, 2)[:, :-1])
    assert (scores.device.type, scores.shape) == ("meta", (2, SPEC.context, SPEC.vocabulary))


def test_the_arithmetic_is_that_of_the_model() -> None:
    from nccltool.worker.train.strategies.model import Halves

    whole, tokens = transformer.make(SPEC), transformer.tokens_of(SPEC, 1, 2)
    halves = Halves(list(transformer.make(SPEC)), [torch.device("cpu")] * 2)
    for model in (whole, halves):
        transformer.loss_of(model(tokens[:, :-1]), tokens[:, 1:]).backward()
    named = dict(halves.named_parameters())
    assert [name for name, p in whole.named_parameters() if not torch.equal(p.grad, named[name].grad)] == []
    assert sorted(named) == sorted(name for name, _ in whole.named_parameters())
