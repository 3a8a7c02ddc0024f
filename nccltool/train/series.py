"""Which strategies have a curve in a series of runs with different numbers of ranks. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.train import sharing
from nccltool.train.job import TrainSpec
from nccltool.train.strategies import word_of

_FEWEST = 2
"""Points of a curve."""
_TRIED = 33
"""Numbers of ranks to try for a remedy, up to this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A strategy that is not on its curve at some numbers of ranks."""

    of: str
    ranks: tuple[int, ...]
    reason: str
    """Of the first of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSeries:
    """The runs of a series."""

    strategies: dict[int, str]
    """Of each run, by its number of ranks: as STRATEGY takes them."""
    sequences: int
    """Of a rank, in weak scaling."""
    unit: int
    """What the sequences of a rank are a multiple of."""
    left_out: tuple[LeftOut, ...]


def of(spec: TrainSpec, worlds: Sequence[int], sequences: int | None) -> TrainSeries:
    """`sequences`: of a rank; None = those of the model, or the next number that can be split. Raises BadInput."""
    names = spec.strategies
    unit = math.lcm(*(sharing.unit(spec, name, worlds) for name in names))
    sequences = sequences or -(-spec.batch // unit) * unit
    if spec.is_all:  # a run leaves out what its number of ranks does not suit
        return TrainSeries(strategies=dict.fromkeys(worlds, "all"), sequences=sequences, unit=unit, left_out=())
    reasons = {name: {ranks: sharing.no_point(spec, name, ranks) for ranks in worlds} for name in names}
    missing = {name: tuple(ranks for ranks in worlds if reasons[name][ranks]) for name in names}
    for name in names:
        if len(worlds) - len(missing[name]) < _FEWEST:
            raise _no_curve(spec, name, missing[name][0])
    runs = {ranks: [name for name in names if not reasons[name][ranks]] for ranks in worlds}
    return TrainSeries(
        strategies={ranks: ",".join(some) for ranks, some in runs.items() if some},
        sequences=sequences,
        unit=unit,
        left_out=tuple(
            LeftOut(of=name, ranks=ranks, reason=reasons[name][ranks[0]])
            for name, ranks in missing.items()
            if ranks
        ),
    )


def _no_curve(spec: TrainSpec, name: str, ranks: int) -> BadInput:
    possible = [str(some) for some in range(1, _TRIED) if not sharing.no_point(spec, name, some)][:3]
    return BadInput(
        f"--scaling: {word_of(name)} has no curve over these numbers of ranks: "
        f"{sharing.no_point(spec, name, ranks)}",
        f"use for example --scaling {','.join(possible)}" if possible else "choose another strategy",
    )
