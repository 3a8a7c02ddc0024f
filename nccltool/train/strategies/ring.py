"""Context parallelism around a ring."""

from typing import TYPE_CHECKING

from nccltool.train.strategies.base import Needs

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each rank has some tokens of all heads."""
    return Needs(tokens=ranks)
