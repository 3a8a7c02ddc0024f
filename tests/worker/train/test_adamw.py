"""The learning rate of torch's schedulers is that of the formula, and the reference moves as the ranks do."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec
from nccltool.worker.train import adamw, strategies, transformer
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.conftest import SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
    # torch's own: SequentialLR steps its schedulers by number
    pytest.mark.filterwarnings("ignore:The epoch parameter in:UserWarning"),
]

ADAMW = replace(SPEC, dtype="float32", learning_rate=0.001, options={"adamw": True})


@pytest.mark.parametrize(("warm_up", "steps"), [(1, 2), (1, 6), (2, 6), (5, 6), (40, 1000), (0, 3)])
def test_the_learning_rate_is_that_of_the_formula(warm_up: int, steps: int) -> None:
    spec = TrainSpec(strategies=("ddp",), steps=steps, learning_rate=0.25, options={"lr_warmup": warm_up})
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=spec.learning_rate)
    schedule = adamw.schedule(spec, optimizer)
    assert (schedule is None) == (warm_up == 0)
    for number in range(1, steps + 1):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(adamw.learning_rate(spec, number), rel=1e-9)
        optimizer.step()
        if schedule is not None:
            schedule.step()
    largest = [number for number in range(1, steps + 1) if adamw.learning_rate(spec, number) == 0.25]
    assert largest == ([warm_up, warm_up + 1] if warm_up else list(range(1, steps + 1)))


def test_roundings_of_a_zero_gradient_move_no_parameter_apart(setup: Setup) -> None:
    """The bias of a key: its gradient is a rounding error of some sign; AdamW makes a step of it."""
    there = Setup("ddp", ADAMW, setup.tools)
    strategy = strategies.build(there)
    reference = Reference(there, 1, tolerance.of(ADAMW))
    tokens = transformer.tokens_of(ADAMW, 1, there.sequences)
    strategy.forward_backward(tokens)
    reference.forward_backward(tokens)
    bias = dict(strategy.named_parameters())["1.key.bias"]
    assert bias.grad is not None
    assert 0 < float(bias.grad.abs().max()) < 1e-7
    bias.grad.neg_()
    assert not reference.gradients(strategy, 1).is_wrong
    reference.take_over(strategy)
    before = bias.detach().clone()
    strategy.update()
    reference.update()
    assert float((bias.detach() - before).abs().max()) > 0.01 * ADAMW.learning_rate
    assert reference.parameters(strategy, 1, "update").error == 0
