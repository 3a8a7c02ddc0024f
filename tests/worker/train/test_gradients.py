"""The scale of a loss in float16: what overflows changes nothing, and is right where one process overflows too."""

import math
from dataclasses import replace

import pytest
import torch

from nccltool.train import tolerance
from nccltool.worker.train import strategies, transformer
from nccltool.worker.train.gradients import GROWTH_STEPS, INITIAL, Scaler
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import Setup
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


@pytest.mark.parametrize("name", ["ddp", "fsdp", "zero1", "pipeline"])
def test_what_overflows_changes_nothing(setup: Setup, name: str) -> None:
    strategy = strategies.build(Setup(name, SPEC, setup.tools))
    assert strategy.scaler is not None
    reference = Reference(setup, strategy.micro_batches, tolerance.of(SPEC))
    before = [parameter.clone() for parameter in reference.model.parameters()]
    tokens = transformer.tokens_of(SPEC, 1, setup.sequences)
    for scale in (2.0**40, INITIAL):
        strategy.scaler.scale = scale
        strategy.clear()
        strategy.forward_backward(tokens)
        strategy.unscale()
        reference.forward_backward(tokens, scale)
        gradients = reference.gradients(strategy, 1)
        strategy.update()
        reference.update()
        overflows = scale > INITIAL
        assert strategy.scaler.overflowed is overflows
        assert (strategy.scaler.scale, math.isinf(gradients.got)) == (scale / 2 if overflows else scale, overflows)
        assert not gradients.is_wrong
        assert not reference.parameters(strategy, 1, "update").is_wrong
        changed = any(bool((a != b).any()) for a, b in zip(before, reference.model.parameters(), strict=True))
        assert changed is not overflows


def test_it_grows_when_nothing_overflows_for_long() -> None:
    scaler = Scaler(CPU)
    for _ in range(GROWTH_STEPS):
        scaler.unscale([torch.ones(2)], together=False)
        scaler.adapt()
    assert scaler.scale == 2 * INITIAL
    scaler.unscale([torch.tensor([1.0, math.nan])], together=False)
    scaler.adapt()
    assert (scaler.overflowed, scaler.scale) == (True, INITIAL)


def test_other_types_need_no_scale(setup: Setup) -> None:
    plain = strategies.build(Setup("ddp", replace(SPEC, dtype="float32"), setup.tools))
    assert plain.scaler is None
