"""Gradients that are added up in a short type by hundreds of ranks: no false alarm, and each drill is found.

The ranks are simulated: their gradients are rounded as torch's hooks do it, and added up as a ring, a tree or a
switch does, each partial sum rounded.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from nccltool.train import tolerance
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import ddp
from nccltool.worker.train import transformer
from nccltool.worker.train.reference import Reference, TensorDifference
from nccltool.worker.train.rounded_sums import RoundedSums
from nccltool.worker.train.strategies.base import Setup, Strategy
from tests.worker.train.conftest import SPEC

pytestmark = [pytest.mark.torch]

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
TINY = replace(SPEC, dtype="float32", batch=1)


def ring(parts: Sequence[Tensor]) -> Tensor:
    """Each rank's chunk begins at another rank; every partial sum is rounded."""
    ranks, there = torch.stack(list(parts)), torch.arange(len(parts[0]))
    first = there * len(parts) // len(there)
    total = ranks[first, there]
    for later in range(1, len(parts)):
        total += ranks[(first + later) % len(parts), there]
    return total


def tree(parts: Sequence[Tensor]) -> Tensor:
    level = list(parts)
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + level[len(level) // 2 * 2 :]
    return level[0]


def switch(parts: Sequence[Tensor]) -> Tensor:
    """NVLS adds up in float32."""
    return torch.stack(list(parts)).float().sum(0).to(parts[0].dtype)


Add = Callable[[Sequence[Tensor]], Tensor]
Drill = Callable[[list[Tensor]], list[Tensor]]

DRILLS: dict[str, Drill] = {
    "doubled": lambda parts: [*parts[:-1], 2 * parts[-1]],
    "lost": lambda parts: [*parts[:-1], 0 * parts[-1]],
    "another rank's": lambda parts: [*parts[:-1], parts[0]],
    "summed": lambda parts: [len(parts) * part for part in parts],
}


class Simulated(Strategy):
    """What one rank of many holds when all have added up their gradients."""

    def __init__(self, setup: Setup, tokens: Tensor) -> None:
        super().__init__(setup)
        self.model, self.micro_batches = self.whole_model(), setup.world
        self.parts = [self._gradient_of(part) for part in tokens.chunk(setup.world)]

    def _gradient_of(self, tokens: Tensor) -> Tensor:
        self.model.zero_grad()
        transformer.loss_of(self.model(tokens[:, :-1]), tokens[:, 1:]).backward()
        return nn.utils.parameters_to_vector(p.grad for p in self.model.parameters() if p.grad is not None)

    def hold(self, parts: Sequence[Tensor], add: Add) -> None:
        dtype, parameters = DTYPES[str(self.setup.spec.options["comm_hook"])], list(self.model.parameters())
        total = add([part.to(dtype).div_(len(parts)) for part in parts]).float()
        for parameter, gradient in zip(parameters, total.split([p.numel() for p in parameters]), strict=True):
            parameter.grad = gradient.view_as(parameter)


class Case:
    """So many ranks in their first step, and the reference."""

    def __init__(self, setup: Setup, spec: TrainSpec, world: int, hook: str) -> None:
        there = Setup("ddp", replace(spec, options={"comm_hook": hook}), setup.tools)
        there.world, there.sequences = world, spec.batch * world
        tokens = transformer.tokens_of(spec, 1, there.sequences)
        self.strategy = Simulated(there, tokens)
        self.reference = Reference(there, world, tolerance.of(there.spec, world))
        self.reference.forward_backward(tokens, of=self.strategy)

    def found(self, add: Add, drill: Drill = list) -> tuple[TensorDifference, TensorDifference]:
        """The gradient, and the weight of a micro-batch in it."""
        self.strategy.hold(drill(self.strategy.parts), add)
        share = self.reference.share(self.strategy)
        assert share is not None
        return self.reference.gradients(self.strategy, 1), share[0]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


MEASURED = {
    ("fp16", 2): (2.3e-4, 0.01), ("bf16", 2): (1.7e-3, 0.01),
    ("fp16", 8): (4.2e-4, 0.01), ("bf16", 8): (3.8e-3, 0.01),
    ("fp16", 64): (1.1e-3, 0.03), ("bf16", 64): (8.4e-3, 0.01),
    ("fp16", 256): (2.1e-3, 0.12), ("bf16", 256): (1.6e-2, 0.03),
    ("fp16", 512): (2.9e-3, 0.20), ("bf16", 512): (3.2e-2, 0.08),
}  # fmt: skip
"""Hook and ranks -> error of the gradient, relative; that of the weight which is furthest off. In a ring."""


@pytest.mark.parametrize(
    ("hook", "world"), [pytest.param(*one, marks=[pytest.mark.slow] * (one[1] > 64)) for one in MEASURED]
)
def test_no_false_alarm_and_each_drill_is_found(setup: Setup, hook: str, world: int) -> None:
    case, (most, most_of_share) = Case(setup, TINY, world, hook), MEASURED[hook, world]
    for add in (ring, tree, switch):
        gradient, share = case.found(add)
        assert gradient.error <= 1.1 * most < 0.5 * gradient.tolerance, add
        assert share.error <= 1.1 * most_of_share < 0.6 * share.tolerance, add
    for name, drill in DRILLS.items():
        gradient, share = case.found(ring, drill)
        assert share.is_wrong or gradient.is_wrong, name
        if name != "summed":  # which is one number for all, and shows in the norm
            assert share.error > 2 * share.tolerance, name


@pytest.mark.slow
@pytest.mark.parametrize("hook", DTYPES)
def test_with_the_default_model(setup: Setup, hook: str) -> None:
    case = Case(setup, TrainSpec(strategies=("ddp",)), 512, hook)
    gradient, share = case.found(ring)
    assert not (gradient.is_wrong or share.is_wrong)
    for name, drill in DRILLS.items():
        gradient, share = case.found(ring, drill)
        assert share.is_wrong or gradient.is_wrong, name


def test_small_numbers_that_float16_loses_are_lost_in_the_reference_too() -> None:
    model = nn.Linear(1, 1)
    sums = RoundedSums.of(model, ddp.Options(comm_hook="fp16"), 512)
    assert sums is not None
    for _ in range(512):
        model.weight.grad, model.bias.grad = torch.full((1, 1), 1e-6), torch.ones(1)
        sums.take()
    sums.leave()
    assert model.weight.grad is not None
    assert model.bias.grad is not None
    assert (float(model.weight.grad), float(model.bias.grad)) == (0.0, 1.0)


@pytest.mark.parametrize("hook", ["none", "powersgd"])
def test_other_gradients_are_not_rounded(hook: str) -> None:
    assert RoundedSums.of(nn.Linear(1, 1), ddp.Options(comm_hook=hook), 512) is None
