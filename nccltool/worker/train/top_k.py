"""Top-k compression: the largest elements of a gradient are sent, with their places.

The largest k of n elements have at least k/n of the square of the norm, so |g - top_k(g)|^2 is at most
(1 - k/n) |g|^2 (Stich and others 2018, Sparsified SGD with Memory, definition 2.1 and lemma A.1).
"""

import math
from typing import ClassVar

import torch
from torch import Tensor

SHARE = 0.01
"""Of the elements. At least one of each tensor."""


class TopK:
    """What is left out is added to the next gradient."""

    FEEDBACK: ClassVar = True

    def pack(self, gradient: Tensor, theirs: Tensor | None = None, slack: float = 0.0) -> Tensor:
        flat = gradient.flatten()
        sizes = flat.abs()
        places = sizes.topk(count(len(flat)), sorted=False).indices.sort().values
        if theirs is not None:
            chosen = _places(theirs, gradient).sort().values
            least = sizes[places].min() - slack * sizes.max()
            if len(chosen.unique()) == len(places) and bool(sizes[chosen].min() >= least):
                places = chosen
        return torch.cat([flat[places].view(torch.uint8), places.int().view(torch.uint8)])

    def unpack(self, packed: Tensor, like: Tensor) -> Tensor:
        values = packed[: count(like.numel()) * like.element_size()].view(like.dtype)
        return torch.zeros_like(like).flatten().index_copy_(0, _places(packed, like), values).view_as(like)

    def bound(self, gradient: Tensor) -> Tensor:
        return (1 - count(gradient.numel()) / gradient.numel()) * gradient.double().square().sum()


def count(elements: int) -> int:
    """How many of them travel."""
    return math.ceil(SHARE * elements)


def _places(packed: Tensor, like: Tensor) -> Tensor:
    """What came damaged may name none that there is."""
    there = packed[count(like.numel()) * like.element_size() :].clone().view(torch.int32)
    return there.long().clamp(0, like.numel() - 1)
