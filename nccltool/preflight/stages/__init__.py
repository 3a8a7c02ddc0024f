"""The stages of a suite, found by listing this folder: what each reads of a suite, needs, and does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nccltool.core import members
from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite_toml import PartForm

NAMES = members.names(__path__, first=("inventory", "doctor", "reach", "within", "across", "pairs", "train"))
"""In the order in which they run; those that are not named here come last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One file of this folder. Its functions are told what its part of the suite says."""

    name: str
    needs: tuple[str, ...]
    """Stages after whose failure this one says nothing."""
    starts_ranks: bool
    """Which need torch."""
    part: PartForm
    about_s: Callable[[StageContext, Any], float]
    """How long it takes on healthy nodes."""
    plan: Callable[[StageContext, Any], tuple[str, ...]]
    """What it would do, in lines."""
    run: Callable[[StageContext, Any], StageResult]


def every() -> tuple[Stage, ...]:
    """All of them, in their order."""
    return tuple(_stage(name) for name in NAMES)


def _stage(name: str) -> Stage:
    file = members.module(__name__, name)
    return Stage(
        name=name,
        needs=file.NEEDS,
        starts_ranks=file.STARTS_RANKS,
        part=file.PART,
        about_s=file.about_s,
        plan=file.plan,
        run=file.run,
    )
