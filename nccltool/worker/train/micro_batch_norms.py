"""Gradient norms of micro-batches, measured before gradients are added up on a rank or across ranks."""

import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn


class Squares:
    """The sum of the squared gradient norms of all backward passes."""

    def __init__(self) -> None:
        self._sums: dict[torch.device, Tensor] = {}

    def add(self, gradient: Tensor) -> None:
        """The gradient of one parameter from one pass."""
        square = torch.linalg.vector_norm(gradient, dtype=torch.float64) ** 2
        before = self._sums.get(gradient.device)
        self._sums[gradient.device] = square if before is None else before + square

    def total(self) -> float:
        return sum(map(float, self._sums.values()))


@contextlib.contextmanager
def watching(parameters: Iterable[nn.Parameter]) -> Iterator[Squares]:
    """Uses hooks of tensors, which see gradients before they are added up; DDP's hooks see them after that."""
    squares = Squares()
    handles = [one.register_hook(squares.add) for one in parameters if one.requires_grad]
    try:
        yield squares
    finally:
        for handle in handles:
            handle.remove()
