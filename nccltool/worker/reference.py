"""The oracle of the smoke trainings: the same model on the same global batch in one process.

Every rank computes it by itself, so that no link and no collective can make it agree with what is wrong.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nccltool.tolerance import Tolerance
from nccltool.worker import transformer
from nccltool.worker.trainings.base import Setup, Strategy, local, same_part


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """How far a quantity of this rank is from the reference, relative to the reference."""

    what: str
    """parameters (before the step's update), loss, gradient, or update (the parameters after it)."""
    got: float
    expected: float
    """Of gradients and parameters: their norms."""
    error: float
    tolerance: float

    @property
    def is_wrong(self) -> bool:
        """Also when it is no number."""
        return not self.error <= self.tolerance


class Reference:
    """One process that trains alone."""

    def __init__(self, setup: Setup, micro_batches: int, tolerance: Tolerance) -> None:
        self._setup, self._micro_batches, self._tolerance = setup, micro_batches, tolerance
        self.model = transformer.make(replace(setup.spec, recompute=False)).to(setup.device)
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=setup.spec.learning_rate)

    def forward_backward(self, tokens: Tensor) -> list[float]:
        """The losses of the micro-batches; the gradients are added up in their order."""
        self._optimizer.zero_grad()
        return [self._one(part) for part in tokens.chunk(self._micro_batches)]

    def _one(self, part: Tensor) -> float:
        with self._setup.lower():
            loss = transformer.loss_of(self.model(part[:, :-1]), part[:, 1:])
        (loss / self._micro_batches).backward()
        return float(loss.detach())

    def update(self) -> None:
        """Change the parameters."""
        self._optimizer.step()

    def gradient_norm(self) -> float:
        """Of the whole model."""
        return _norm(p.grad for p in self.model.parameters() if p.grad is not None)

    def losses(self, strategy: dict[int, float], mine: list[float], number: int) -> Difference:
        """The loss that is furthest away, of the micro-batches that this rank saw."""
        tolerance = self._tolerance.at(number)
        found = [_difference("loss", got, mine[index], tolerance) for index, got in strategy.items()]
        return max(found, key=_badness, default=_difference("loss", 0.0, 0.0, tolerance))

    def gradients(self, strategy: Strategy, number: int) -> Difference:
        """Of what this rank holds of the gradients."""
        pairs = [(_gradient(mine), same_part(_gradient(own), mine)) for mine, own in self._pairs(strategy)]
        return _compared("gradient", pairs, self._tolerance.at(number))

    def parameters(self, strategy: Strategy, number: int, what: str) -> Difference:
        """Of what this rank holds of the parameters: before the update, or after it."""
        pairs = [(local(mine.detach()), same_part(own.detach(), mine)) for mine, own in self._pairs(strategy)]
        return _compared(what, pairs, self._tolerance.at(number))

    def _pairs(self, strategy: Strategy) -> Iterator[tuple[Tensor, Tensor]]:
        own = dict(self.model.named_parameters())
        for name, mine in strategy.named_parameters():
            yield mine, own[name]

    def shares(self, strategy: Strategy, tokens: Tensor) -> list[float] | None:
        """With which weight each micro-batch is in the gradient that this rank holds; all are 1 when all is well.

        None when no weights explain it: then it was damaged, not put together wrongly. To be asked before
        `update`; what the reference holds of gradients is lost.
        """
        mine = torch.cat([_gradient(p).flatten().double() for p, _ in self._pairs(strategy)])
        columns = []
        for part in tokens.chunk(self._micro_batches):
            self._optimizer.zero_grad()
            self._one(part)
            columns.append(
                torch.cat([same_part(_gradient(own), p).flatten().double() for p, own in self._pairs(strategy)])
            )
        basis = torch.stack(columns, 1)
        weights = torch.linalg.lstsq(basis.T @ basis, basis.T @ mine).solution
        left = float((basis @ weights - mine).norm() / mine.norm())
        return [float(weight) for weight in weights] if left <= _EXPLAINED else None


_EXPLAINED = 1e-3
"""Share of a gradient that may be left over when weights explain it: a thousand times what rounding leaves."""


def _gradient(parameter: Tensor) -> Tensor:
    gradient = parameter.grad
    return torch.zeros_like(local(parameter)) if gradient is None else local(gradient)


def _difference(what: str, got: float, expected: float, tolerance: float) -> Difference:
    error = abs(got - expected) / (abs(expected) or 1.0)
    return Difference(what=what, got=got, expected=expected, error=error, tolerance=tolerance)


def _compared(what: str, pairs: Iterable[tuple[Tensor, Tensor]], tolerance: float) -> Difference:
    pairs = list(pairs)
    expected = _norm(own for _, own in pairs)
    apart = _norm(mine - own for mine, own in pairs)
    got = _norm(mine for mine, _ in pairs)
    error = apart / (expected or 1.0)
    return Difference(what=what, got=got, expected=expected, error=error, tolerance=tolerance)


def _norm(tensors: Iterable[Tensor]) -> float:
    squares = [torch.linalg.vector_norm(tensor.double()) ** 2 for tensor in tensors]
    return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def _badness(difference: Difference) -> float:
    return difference.error if difference.error == difference.error else float("inf")
