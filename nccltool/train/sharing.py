"""How many ranks have one model between them, and how large it must be for that. Pure.

A strategy that cuts heads, tokens or layers needs so many of them that each rank has its own. So ranks come in
groups of neighbours, the largest that divide the world and are not above MOST: on hosts with eight GPUs, the ranks
of one. Each group has the whole model between its ranks and its own part of the batch, and gradients are averaged
across the groups, as large training runs do it (Narayanan and others 2021, Efficient Large-Scale Language Model
Training, section 3.2: layers are cut over no more ranks than a server has GPUs). Sizes that nobody asked for grow
to the next multiple.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from nccltool.core.text import counted
from nccltool.train import tuning
from nccltool.train.job import TrainSpec
from nccltool.train.strategies.base import DataParallelOptions, Needs

MOST = 8
"""GPUs of a server; also more stages or shares than that would only make the model of a smoke test large."""
HEAD_WIDTH = 8
"""What the width of a head that had to change is a multiple of: kernels for attention on GPUs want that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
    """How a strategy is done in a world."""

    ranks: int
    """That have one model between them; 0 = it cannot be done."""
    spec: TrainSpec
    """With the sizes that it then has."""
    reason: str = ""
    """Why it cannot be done."""
    applies: bool = True
    """Whether it is meant for so few ranks at all."""


def of(spec: TrainSpec, strategy: str, world: int, made_for: int = 0) -> Sharing:
    """`made_for`: the model stays as it was made for so many ranks; 0 = for those of `world`."""
    if made_for and made_for != world:
        then = of(replace(spec, given=(*spec.given, "batch")), strategy, made_for)
        spec = replace(then.spec, given=SIZES)
    elif spec.series or spec.tune:
        spec = replace(_grown(spec, _of_all(spec, strategy, world)), given=SIZES)
    module = _module(strategy)
    if not hasattr(module, "needs"):
        return Sharing(ranks=1, spec=spec)
    exactly: int | None = getattr(module, "RANKS", None)
    reason = f"{counted(world, 'rank')} cannot be split into groups of {exactly or f'2 to {MOST}'}"
    for ranks in _groups(world, exactly):
        needs: Needs = module.needs(spec, ranks)
        reason = _lacks(spec, needs, ranks)
        if not reason:
            return Sharing(ranks=ranks, spec=_grown(spec, needs))
    return Sharing(ranks=0, spec=spec, reason=reason, applies=world >= (exactly or 1))


def no_point(spec: TrainSpec, strategy: str, world: int) -> str:
    """Why a curve of this strategy has no point at so many ranks; empty = it has one."""
    module = _module(strategy)
    reason: str = getattr(module, "NO_CURVE", "")
    least: int = getattr(module, "LEAST_RANKS", 1)
    if not reason and world < least:
        reason = f"its layers need {least} ranks"
    return reason or of(spec, strategy, world).reason


def unit(spec: TrainSpec, strategy: str, worlds: Sequence[int]) -> int:
    """What the sequences of a rank are a multiple of in each of these worlds."""
    accumulate = spec.for_one(strategy).of(DataParallelOptions).accumulate
    return math.lcm(accumulate, _of_all(replace(spec, series=tuple(worlds)), strategy, 0).sequences)


def _of_all(spec: TrainSpec, strategy: str, world: int) -> Needs:
    """What a model must have in each world of the series, and with each setting that is tried, where it can be."""
    module, alone = _module(strategy), replace(spec, series=(), tune=False)
    if not hasattr(module, "needs"):
        return Needs()
    tried = [alone]
    if spec.tune and tuning.has_variants(strategy):
        tried = [tuning.spec_of(alone, one) for one in tuning.variants(alone, strategy, world)]
    pairs = ((one, of(one, strategy, ranks).ranks) for one in tried for ranks in spec.series or (world,))
    needs: list[Needs] = [module.needs(one, ranks) for one, ranks in pairs if ranks]
    return Needs(
        heads=math.lcm(*(one.heads for one in needs)),
        tokens=math.lcm(*(one.tokens for one in needs)),
        parts=max((one.parts for one in needs), default=1),
        sequences=math.lcm(*(one.sequences for one in needs)),
        experts=max((one.experts for one in needs), default=0),
    )


def _module(strategy: str) -> Any:
    return import_module(f"nccltool.train.strategies.{strategy}")


SIZES = ("layers", "width", "heads", "context", "vocabulary", "batch")
"""Fields of TrainSpec that `given` may name."""


def _groups(world: int, exactly: int | None) -> Iterator[int]:
    """Sizes of groups that divide the world, the largest first."""
    if exactly is not None or world == 1:
        return iter([] if world % (exactly or 1) else [exactly or 1])
    return (ranks for ranks in range(min(world, MOST), 1, -1) if world % ranks == 0)


def _lacks(spec: TrainSpec, needs: Needs, ranks: int) -> str:
    """What of the sizes that were asked for is not enough; empty = nothing."""
    if "heads" in spec.given and spec.heads % needs.heads:
        return f"{spec.heads} attention heads cannot be split across {ranks} ranks (--heads)"
    if "width" in spec.given and spec.width % _heads(spec, needs):
        return f"--width {spec.width} cannot be divided by {_heads(spec, needs)} attention heads"
    if "context" in spec.given and spec.context % needs.tokens:
        return f"{counted(spec.context, 'token')} cannot be split across {ranks} ranks (--context)"
    if "layers" in spec.given and spec.layers + 2 < needs.parts:
        return (
            f"{spec.layers} layers and both ends make {spec.layers + 2} stages, but {needs.parts} are "
            "needed (--layers)"
        )
    return ""


def _heads(spec: TrainSpec, needs: Needs) -> int:
    return _multiple(spec.heads, needs.heads)


def _grown(spec: TrainSpec, needs: Needs) -> TrainSpec:
    heads, width = _heads(spec, needs), spec.width
    if heads != spec.heads and "width" not in spec.given:
        width = _multiple(width, heads * HEAD_WIDTH)
    return replace(
        spec,
        heads=heads,
        width=width,
        context=_multiple(spec.context, needs.tokens),
        layers=max(spec.layers, needs.parts - 2),
        experts=needs.experts,
        batch=spec.batch if "batch" in spec.given else _multiple(spec.batch, needs.sequences),
    )


def _multiple(number: int, of_: int) -> int:
    """The next one that is not smaller."""
    return -(-number // of_) * of_
