"""Which options of a smoke training are for which strategies; the others train as if they had not been given."""

from dataclasses import fields, replace
from typing import Any

from nccltool.train import strategies
from nccltool.train.spec import TrainSpec

OF = {
    field.name: takers
    for field in fields(TrainSpec)
    if (takers := tuple(name for name in strategies.NAMES if field.name in strategies.takes(name)))
}
"""Field of TrainSpec -> strategies. Fields that are not here are for all."""


def of(strategy: str, spec: TrainSpec) -> TrainSpec:
    """What of a job is for this strategy."""
    return replace(spec, **{name: _DEFAULTS[name] for name, takers in OF.items() if strategy not in takers})


def strays(spec: TrainSpec) -> list[str]:
    """Fields that were given and that none of the strategies of the job takes."""
    return [
        name
        for name, takers in OF.items()
        if getattr(spec, name) != _DEFAULTS[name] and not set(takers) & set(spec.strategies)
    ]


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(TrainSpec) if field.name in OF}
