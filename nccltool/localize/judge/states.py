"""What a part of the fabric can be: healthy, or slower by so much, so often, in this direction."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SMALLEST_LOSS: Final = 0.055
"""A log ratio; what is slower by less is a difference between healthy machines."""
_MILD_FROM, _LARGEST_LOSS, _STEPS = 0.015, 3.0, 14

LOSSES: Final[Floats] = np.array([_MILD_FROM, *np.geomspace(SMALLEST_LOSS, _LARGEST_LOSS, _STEPS + 1)])
"""Bounds of the losses, as log ratios: level 1 is between the first two."""
MILD: Final = 1
FIRST_BAD: Final = 2
DEAD: Final = len(LOSSES)
"""The level at which there is no number at all."""
LEVELS: Final = DEAD + 1
"""Level 0 is healthy."""
SHARES: Final[Floats] = np.array([1.0, 0.5])
"""How often a fault shows."""
CENTERS: Final[Floats] = np.array([0.0, *((LOSSES[:-1] + LOSSES[1:]) / 2), _LARGEST_LOSS])

BOTH, SEND, RECEIVE = 0, 1, 2

_MILD_PRIOR = 0.05
_DEAD_SHARE = 0.15
_INTERMITTENT = 0.4
_ONE_WAY = 0.4
_IMPOSSIBLE = 1e-9


def log_priors(bad: float, directions: int, *, is_mild_usual: bool) -> Floats:
    """Log odds against healthy of each state: directions x shares x levels from 1 on."""
    slow = np.full(LEVELS - 1, (1 - _DEAD_SHARE) / _STEPS)
    slow[-1] = _DEAD_SHARE
    slow[0] = 0.0
    share = np.array([1 - _INTERMITTENT, _INTERMITTENT])
    ways = np.array([1 - _ONE_WAY, _ONE_WAY / 2, _ONE_WAY / 2]) if directions > 1 else np.ones(1)
    prior = bad * ways[:, None, None] * share[:, None] * slow
    if is_mild_usual:
        prior[BOTH, 0, 0] = _MILD_PRIOR
    prior = np.maximum(prior, _IMPOSSIBLE * bad)
    logs: Floats = np.log(prior / (1 - prior.sum()))
    return logs
