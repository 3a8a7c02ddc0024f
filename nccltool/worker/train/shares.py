"""With which weights the gradients of micro-batches are in a gradient that somebody put together."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from nccltool.train.reference_cost import SHARES_BYTES

_LEAST_ROWS = 2
"""Numbers of a gradient for each weight that is sought."""


class GradientColumns:
    """Gradients of micro-batches side by side, in float64; of large ones a sample, the same of each."""

    def __init__(self, elements: int, micro_batches: int, device: torch.device) -> None:
        """`elements`: of a gradient, as far as this rank holds it."""
        self._device, self._columns = device, list[Tensor]()
        # odd, so that a sample is not of the same columns of every matrix
        self.step = math.ceil(elements * micro_batches * 8 / SHARES_BYTES) | 1

    @property
    def is_sample(self) -> bool:
        return self.step > 1

    def sample(self, gradient: Iterable[Tensor]) -> Tensor:
        parts = [part.flatten()[:: self.step].to(self._device, torch.float64) for part in gradient]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.float64, device=self._device)

    def add(self, column: Tensor) -> None:
        self._columns.append(column)

    def weights(self, mine: Tensor, each_row_alike: bool = False) -> "Weights | None":
        """Those that come closest to a gradient, of which `mine` is the sample; None where they cannot be told.

        `each_row_alike`: numbers are off by a share of themselves, as by rounding, not all by as much.
        """
        if len(mine) < _LEAST_ROWS * len(self._columns):
            return None
        basis = torch.stack(self._columns, 1)
        if not (basis.isfinite().all() and mine.isfinite().all()):
            return None
        if each_row_alike:
            sizes = basis.square().mean(1).sqrt()
            there = sizes > 0
            basis, mine = basis[there] / sizes[there, None], mine[there] / sizes[there]
            if len(mine) < _LEAST_ROWS * len(self._columns):
                return None
        # not lstsq: on CUDA it takes every column to be independent of the others
        inverse = torch.linalg.pinv(basis.T @ basis, hermitian=True)
        found = inverse @ (basis.T @ mine)
        apart, rows = mine - basis @ found, len(mine) - len(self._columns)
        variance = float(apart.norm()) ** 2 / rows
        errors = (inverse.diagonal().clamp_min(0) * variance).sqrt()
        left = float(apart.norm() / mine.norm())
        return Weights(tuple(map(float, found)), tuple(map(float, errors)), left)


@dataclass(frozen=True, slots=True)
class Weights:
    """Of each micro-batch."""

    values: tuple[float, ...]
    errors: tuple[float, ...]
    """Their standard errors."""
    left: float
    """Share of the gradient that they do not explain."""


def explained(
    columns: GradientColumns, mine: Iterable[Tensor], limit: float, weighted: Callable[[Weights], float]
) -> Weights | None:
    """The weights that explain a gradient but for `limit` of it. `weighted`: what is left of all of it where the
    columns have a sample only."""
    found = columns.weights(columns.sample(mine))
    if found is None or not found.left <= limit:
        return None
    return found if not columns.is_sample or weighted(found) <= limit else None
