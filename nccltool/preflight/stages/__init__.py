"""The stages of a suite, one file each, in the order of suites.STAGES: what each does, and what it needs."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite import STAGES


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One file of this folder."""

    name: str
    needs: tuple[str, ...]
    """Stages after whose failure this one says nothing."""
    about_s: Callable[[StageContext], float]
    """How long it takes on healthy nodes."""
    plan: Callable[[StageContext], tuple[str, ...]]
    """What it would do, in lines."""
    run: Callable[[StageContext], StageResult]


def every() -> tuple[Stage, ...]:
    """All of them, in their order."""
    return tuple(_stage(name) for name in STAGES)


def _stage(name: str) -> Stage:
    module = importlib.import_module(f"nccltool.preflight.stages.{name}")
    return Stage(name=name, needs=module.NEEDS, about_s=module.about_s, plan=module.plan, run=module.run)
