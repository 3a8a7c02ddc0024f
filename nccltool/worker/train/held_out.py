"""Sequences that are not trained with, shared out for validation.

Parts of ranks differ by a sequence, and so do batches, so means of means would be wrong: losses are added up, and
sequences counted. Each rank makes the same number of passes, because some strategies communicate in each.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nccltool.train.job import TrainSpec
from nccltool.train.strategies.base import ValidationOptions
from nccltool.worker.train import transformer


def tokens(spec: TrainSpec) -> Tensor:
    """Each sequence repeats one token, so that losses differ and a wrong weight shows."""
    count = spec.of(ValidationOptions).validate
    return transformer.tokens_of(spec, 0, count)[:, :1].expand(count, spec.context + 1)


def batches(spec: TrainSpec, rank: int, world: int) -> Sequence[Tensor]:
    """A rank's part; some may be empty."""
    parts = tokens(spec).tensor_split(world)
    mine: Sequence[Tensor] = parts[rank].tensor_split(-(-len(parts[0]) // spec.batch))
    return mine


def summed(batches: Sequence[Tensor], scores: Callable[[Tensor], Tensor]) -> Tensor:
    """(the sum of the losses of sequences, their number)."""
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in batches:
            said = scores(batch[:, :-1])
            if len(batch):  # the mean of nothing is no number
                total += float(transformer.loss_of(said, batch[:, 1:])) * len(batch)
                count += len(batch)
    return torch.tensor([total, count], dtype=torch.float64)
