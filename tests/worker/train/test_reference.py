"""One process is held against the ranks: what is no number is wrong, and nothing explains it."""

import math
from dataclasses import replace

import pytest
import torch

from nccltool.train import tolerance
from nccltool.worker.train import strategies, transformer
from nccltool.worker.train.gradients import INITIAL
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.conftest import SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


def test_an_overflow_that_one_process_does_not_have_is_wrong(setup: Setup) -> None:
    strategy = strategies.build(setup)
    assert strategy.scaler is not None
    reference = Reference(setup, strategy.micro_batches, tolerance.of(SPEC))
    reference.forward_backward(transformer.tokens_of(SPEC, 1, setup.sequences), INITIAL)
    strategy.scaler.overflowed = True
    difference = reference.gradients(strategy, 1)
    assert (difference.is_wrong, difference.error) == (True, math.inf)


@pytest.mark.parametrize("where", ["mine", "the reference's"])
def test_no_weights_explain_what_is_no_number(setup: Setup, where: str) -> None:
    spec = replace(SPEC, dtype="float32")
    plain = Setup("ddp", spec, setup.tools)
    strategy = strategies.build(plain)
    reference = Reference(plain, strategy.micro_batches, tolerance.of(spec))
    tokens = transformer.tokens_of(spec, 1, plain.sequences)
    strategy.forward_backward(tokens)
    shares = reference.shares(strategy, tokens, 1)
    assert shares is not None
    assert shares[0] == pytest.approx(1.0, abs=1e-3)
    if where == "mine":
        gradients = [p.grad for _, p in strategy.named_parameters() if p.grad is not None]
        gradients[0].view(-1)[0] = math.nan
    else:
        with torch.no_grad():
            next(reference.model.parameters()).fill_(math.nan)
    assert reference.shares(strategy, tokens, 1) is None
