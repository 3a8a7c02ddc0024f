"""int8 compression: each element of a gradient is sent as the nearest of 255 equidistant values.

Rounding to multiples of D moves an element by at most D/2, so |g - rounded|^2 is at most n D^2/4. If all
remainders are equally likely, it is n D^2/12 (Bennett 1948, Spectra of Quantized Signals). D is the largest
element over 127.
"""

from typing import ClassVar

import torch
from torch import Tensor

LEVELS = 127
"""On either side of zero."""


class Int8:
    """What is rounded off is lost."""

    FEEDBACK: ClassVar = False

    def pack(self, gradient: Tensor, theirs: Tensor | None = None, slack: float = 0.0) -> Tensor:
        flat, distance = gradient.flatten(), _distance(gradient)
        exact = flat / distance
        levels = exact.round().to(torch.int8)
        if theirs is not None:
            chosen = theirs[distance.element_size() :].view(torch.int8)
            if bool(((exact - chosen).abs() <= 0.5 + slack * LEVELS).all()):
                levels = chosen
        return torch.cat([distance.view(1).view(torch.uint8), levels.view(torch.uint8)])

    def unpack(self, packed: Tensor, like: Tensor) -> Tensor:
        distance = packed[: like.element_size()].view(like.dtype)
        return (packed[like.element_size() :].view(torch.int8).to(like.dtype) * distance).view_as(like)

    def bound(self, gradient: Tensor) -> Tensor:
        return gradient.numel() * (_distance(gradient).double() / 2).square()


def _distance(gradient: Tensor) -> Tensor:
    """Of two neighbours; never zero."""
    return (gradient.abs().max() / LEVELS).clamp_min(torch.finfo(gradient.dtype).tiny)
