"""The rungs of a suite, one file each, in the order of suites.RUNGS: what each does, and what it needs."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from nccltool.preflight.stages.base import Climbed, Ladder
from nccltool.preflight.suites import RUNGS


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """One file of this folder."""

    name: str
    needs: tuple[str, ...]
    """Rungs after whose failure this one says nothing."""
    about_s: Callable[[Ladder], float]
    """How long it takes on healthy nodes."""
    would: Callable[[Ladder], tuple[str, ...]]
    """What it would do, in lines."""
    climb: Callable[[Ladder], Climbed]


def every() -> tuple[Rung, ...]:
    """All of them, in their order."""
    return tuple(_rung(name) for name in RUNGS)


def _rung(name: str) -> Rung:
    module = importlib.import_module(f"nccltool.preflight.stages.{name}")
    return Rung(name=name, needs=module.NEEDS, about_s=module.about_s, would=module.would, climb=module.climb)
