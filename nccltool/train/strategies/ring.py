"""Context parallelism around a ring."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nccltool.train.strategies.base import Needs, StrategyOptions, TuningPlace, Variant

if TYPE_CHECKING:
    from nccltool.train.job import TrainSpec


@dataclass(frozen=True, kw_only=True)
class Options(StrategyOptions):
    """Its options."""

    prefetch: bool = False
    """Keys and values are sent before they are computed with, not after."""


def needs(spec: "TrainSpec", ranks: int) -> Needs:
    """Each rank has some tokens of all heads."""
    return Needs(tokens=ranks)


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """In the forward pass, the next keys and values come while those at hand are computed with."""
    yield Variant(
        name="sending before computing",
        setting="isend and irecv of keys and values before the attention to them, wait() after it",
        options=replace(own, prefetch=True),
    )
