"""Compressed averages of several ranks, and of one process that does it rank by rank."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor, nn

from nccltool.worker.train import compression
from nccltool.worker.train.compression import FORMS, CompressedSums, Compression, Form

pytestmark = [pytest.mark.torch, pytest.mark.quick]

RANKS, STEPS = 4, 5


def gradients(seed: int) -> Iterator[list[list[Tensor]]]:
    """Of each step, of each rank, those of two parameters."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        yield [[torch.randn(shape, generator=generator) for shape in ((20, 30), (7,))] for _ in range(RANKS)]


class World:
    """Ranks in one process, and the process that is compared with them."""

    def __init__(self, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model = nn.ParameterList([nn.Parameter(torch.zeros(20, 30)), nn.Parameter(torch.zeros(7))])
        self.parameters = list(self.model.parameters())
        self.ranks = [Compression(form, RANKS) for _ in range(RANKS)]
        self.sums = CompressedSums(self.model, form, RANKS)
        self._packed: list[Tensor] = []
        monkeypatch.setattr(compression, "_all_gather", self._gather)

    def _gather(self, everybodys: Tensor, mine: Tensor) -> None:
        """Twice for each rank: what all send is known when all have sent."""
        self._packed.append(mine.clone())
        if len(self._packed) > RANKS:
            everybodys.copy_(torch.cat(self._packed[:RANKS]))
        else:
            everybodys.view(RANKS, -1).copy_(mine)

    def averages(self, step: Sequence[Sequence[Tensor]]) -> list[Tensor]:
        """What rank 0 has in the end; all must have the same bits."""
        self._packed.clear()
        before = [dict(rank.residuals) for rank in self.ranks]
        found = []
        for _ in range(2):
            for rank, there, mine in zip(self.ranks, before, step, strict=True):
                rank.residuals = dict(there)
                copies = [one.clone() for one in mine]
                rank.average(self.parameters, copies)
                found.append(copies)
        for other in found[RANKS + 1 :]:
            assert all(map(torch.equal, found[RANKS], other))
        return found[RANKS]

    def alone(self, step: Sequence[Sequence[Tensor]], slack: float = 1e-6) -> list[Tensor]:
        self.sums.follow(self.ranks[0].sent, slack)
        for mine in step:
            for parameter, gradient in zip(self.parameters, mine, strict=True):
                parameter.grad = gradient.clone()
            self.sums.take()
        self.sums.leave()
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]


@pytest.mark.parametrize("name", FORMS)
def test_one_process_has_the_bits_of_the_ranks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(FORMS[name], monkeypatch)
    for step in gradients(1):
        assert all(map(torch.equal, world.averages(step), world.alone(step)))
        for number, rank in enumerate(world.ranks):
            own = world.sums.residuals(number)
            assert rank.residuals.keys() == own.keys()
            assert all(torch.equal(rank.residuals[p], own[p]) for p in own)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_lost_is_less_than_the_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(FORMS[name], monkeypatch)
    for step in gradients(2):
        found = world.averages(step)
        world.alone(step)
        loss = world.sums.loss(zip(world.parameters, found, strict=True), 1.0)
        assert 0 < loss.error < loss.bound < 1


def test_all_that_topk_left_out_so_far_is_in_the_residuals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sum of what was applied + mean of residuals = sum of exact averages."""
    world = World(FORMS["topk"], monkeypatch)
    applied, exact = torch.zeros(20, 30), torch.zeros(20, 30)
    for step in gradients(3):
        applied += world.averages(step)[0]
        exact += torch.stack([mine[0] for mine in step]).mean(0)
    left = torch.stack([rank.residuals[world.parameters[0]] for rank in world.ranks]).mean(0)
    assert torch.allclose(applied + left, exact, atol=1e-6)
    assert float((applied - exact).norm() / exact.norm()) > 0.5


def test_a_lost_residual_shows_in_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(FORMS["topk"], monkeypatch)
    steps = list(gradients(4))
    world.averages(steps[0])
    world.alone(steps[0])
    world.ranks[2].residuals.clear()
    found, own = world.averages(steps[1]), world.alone(steps[1])
    assert float((found[0] - own[0]).norm() / own[0].norm()) > 0.05


def test_a_form_that_keeps_the_smallest_is_above_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides would do it, so that nothing else shows it."""

    class Smallest(type(FORMS["topk"])):  # type: ignore[misc]
        def pack(self, gradient: Tensor, theirs: Tensor | None = None, slack: float = 0.0) -> Tensor:
            packed: Tensor = super().pack(1 / gradient)
            return packed

    world = World(Smallest(), monkeypatch)
    (step, *_) = gradients(5)
    found = world.averages(step)
    world.alone(step)
    loss = world.sums.loss(zip(world.parameters, found, strict=True), 1.0)
    assert loss.error > loss.bound
