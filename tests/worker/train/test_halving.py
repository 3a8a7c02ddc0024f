"""Micro-batches that are cut in half when memory runs out have the gradients of whole ones, or are found wrong."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nccltool.launch import events, fault_injection
from nccltool.train import tolerance
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.fault import FaultInjector
from nccltool.worker.rank.tools import RankTools
from nccltool.worker.train import halving, strategies
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import DataParallel, Setup
from tests.worker.train.conftest import CPU, SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

HALVED = replace(SPEC, dtype="float32", batch=4, options={"halve_on_oom": True, "accumulate": 2})


@pytest.fixture
def there(setup: Setup) -> Iterator[tuple[Setup, int]]:
    """A rank that runs out of memory in its first pass, and where it tells it."""
    reading, writing = os.pipe()
    injector = FaultInjector(fault_injection.parse("oom:rank=0"), 0)
    yield Setup("ddp", HALVED, RankTools(CPU, ProgressPage(), Channel(writing, None), injector)), reading
    os.close(reading)
    os.close(writing)


def difference(setup: Setup, plant: Callable[[DataParallel], None]) -> tuple[bool, float]:
    """(whether losses or gradients are wrong, the relative error of the gradients) of a step."""
    strategy = strategies.build(setup)
    assert isinstance(strategy, DataParallel)
    plant(strategy)
    tokens = setup.tokens(1)
    losses = {at: float(loss) for at, loss in strategy.forward_backward(tokens).items()}
    strategy.reduce_gradients()
    setup.cut = 1
    reference = Reference(setup, strategy.micro_batches, tolerance.of(HALVED))
    own = reference.forward_backward(tokens)
    gradients = reference.gradients(strategy, 1)
    return reference.losses(losses, own, 1).is_wrong or gradients.is_wrong, gradients.error


def test_halves_are_the_whole_and_the_rank_says_so(there: tuple[Setup, int]) -> None:
    setup, reading = there
    assert difference(setup, lambda strategy: None)[0] is False
    event = events.decode(os.read(reading, 4096))
    assert isinstance(event, events.Reported)
    finding = event.finding
    assert (finding.code, finding.subject.name, finding.evidence) == (
        "micro-batch-halved",
        "0",
        ("injected fault: out of memory",),
    )
    assert "repeated it, and continue, in micro-batches of half the size (1 per rank)" in finding.message
    assert finding.remedy.startswith("use --accumulate 4,")


def keep(strategy: DataParallel) -> None:
    """What the first attempt left."""
    strategy.clear = lambda: None  # type: ignore[method-assign]


def in_place_of(change: Callable[[int, Tensor, int], tuple[Tensor, int]]) -> Callable[[DataParallel], None]:
    """`change`: of a pass, by its number, the tokens and the divisor."""

    def plant(strategy: DataParallel) -> None:
        right, calls = strategy.one_pass, iter(range(100))

        def one_pass(tokens: Tensor, of: int = 1, is_last: bool = True) -> Tensor:
            return right(*change(next(calls), tokens, of), is_last)

        strategy.one_pass = one_pass  # type: ignore[method-assign]

    return plant


@pytest.mark.parametrize(
    "plant",
    [
        keep,
        in_place_of(lambda number, tokens, of: (tokens, 2)),
        in_place_of(lambda number, tokens, of: (tokens, of * (1 if number != 4 else 2))),
        in_place_of(lambda number, tokens, of: (tokens.flip(1) if number == 5 else tokens, of)),
    ],
    ids=["gradients not cleared", "halves count as wholes", "one half counts less", "other tokens"],
)
def test_a_wrong_repetition_is_found(there: tuple[Setup, int], plant: Callable[[DataParallel], None]) -> None:
    is_wrong, error = difference(there[0], plant)
    assert is_wrong
    assert error > 0.01


def test_no_sequence_is_cut_and_other_errors_stay_what_they_are(there: tuple[Setup, int]) -> None:
    setup, _ = there
    tried = []

    def work() -> None:
        tried.append(setup.cut)
        raise torch.OutOfMemoryError("too large")

    with pytest.raises(torch.OutOfMemoryError, match="too large"):
        halving.until_it_fits(setup, work)
    assert tried == [1, 2]

    def broken() -> None:
        raise RuntimeError("of the program")

    with pytest.raises(RuntimeError, match="of the program"):
        halving.until_it_fits(setup, broken)


def test_the_reference_can_be_cut_too(setup: Setup) -> None:
    there = Setup("ddp", HALVED, setup.tools)
    tokens, allowed = there.tokens(1), tolerance.of(HALVED)
    whole = Reference(there, 2, allowed)
    expected = whole.forward_backward(tokens)
    there.cut = 2
    cut = Reference(there, 2, allowed)
    assert cut.forward_backward(tokens) == pytest.approx(expected, rel=1e-6)
    assert cut.gradient_norm() == pytest.approx(whole.gradient_norm(), rel=1e-5)
