"""How unevenly ranks send: what each destination gets, as a share of what the busiest one gets. Pure."""

import math
from dataclasses import dataclass

from nccltool.core.errors import BadInput

UNIFORM = "uniform"
ONE_HOT = "one-hot"
_ZIPF = "zipf"
_STEEPEST = 10.0
"""With more, the second of two ranks gets less than a thousandth, as with one-hot."""


@dataclass(frozen=True, slots=True)
class Skew:
    """A distribution over destinations. All ranks send alike, and rank 0 gets most."""

    word: str
    """As written in --skew."""
    exponent: float
    """Destination r gets (r + 1) ** -exponent of what rank 0 gets; infinity = rank 0 gets everything."""

    def shares(self, world_size: int) -> tuple[float, ...]:
        """Of each destination, relative to the busiest."""
        return tuple((rank + 1) ** -self.exponent for rank in range(world_size))


def parse(word: str) -> Skew:
    """The skew that a word describes. Raises BadInput."""
    if word == UNIFORM:
        return Skew(word, 0.0)
    if word == ONE_HOT:
        return Skew(word, math.inf)
    name, _, number = word.partition(":")
    if name != _ZIPF:
        raise BadInput(f"{word!r} is not a skew", f"choose from {UNIFORM}, {_ZIPF}:1.1, {ONE_HOT}")
    try:
        exponent = float(number)
    except ValueError:
        exponent = math.nan
    if not 0 < exponent <= _STEEPEST:
        raise BadInput(f"{word!r} has no exponent above 0 and up to {_STEEPEST:g}", f"write {_ZIPF}:1.1")
    return Skew(f"{_ZIPF}:{exponent:g}", exponent)
