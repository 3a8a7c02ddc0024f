"""The scale of a loss in float16: what overflows changes nothing, and is right where one process overflows too."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import strategies, transformer
from nccltool.worker.train.gradients import GROWTH_STEPS, INITIAL, Scaler
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import Setup

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

SPEC = TrainSpec(strategies=("ddp",), dtype="float16", layers=2, width=16, context=8, vocabulary=32)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def setup() -> Iterator[Setup]:
    """A world of one."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield Setup("ddp", SPEC, RankTools(CPU, ProgressPage(), Channel(-1, None), FaultInjector(None, 0)))
    dist.destroy_process_group()


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
    shares = reference.shares(strategy, tokens)
    assert shares is not None
    assert shares[0] == pytest.approx(1.0, abs=1e-3)
    if where == "mine":
        gradients = [p.grad for _, p in strategy.named_parameters() if p.grad is not None]
        gradients[0].view(-1)[0] = math.nan
    else:
        with torch.no_grad():
            next(reference.model.parameters()).fill_(math.nan)
    assert reference.shares(strategy, tokens) is None


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
