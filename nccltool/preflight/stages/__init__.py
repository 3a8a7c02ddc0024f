"""The stages of a suite, found by listing this folder: what each reads of a suite, needs, and does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nccltool.core import members, plugins
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stages.base import StageContext, StageResult
from nccltool.preflight.suite_toml import PartForm

NAMES = members.names(
    __path__, first=("inventory", "doctor", "reach", "within", "across", "pairs", "train"), family="checks"
)
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
    file = members.module(__name__, name, family="checks")
    plugin = plugins.origin(file)
    return Stage(
        name=name,
        needs=file.NEEDS,
        starts_ranks=file.STARTS_RANKS,
        part=file.PART,
        about_s=plugins.guarded(plugin, file.about_s, lambda why: 0.0) if plugin else file.about_s,
        plan=plugins.guarded(plugin, file.plan, lambda why: (why,)) if plugin else file.plan,
        run=plugins.guarded(plugin, file.run, lambda why: _not_run(name, why)) if plugin else file.run,
    )


def _not_run(name: str, why: str) -> StageResult:
    """What a stage of another package says that failed itself."""
    outcome = CheckOutcome(check=Check(stage=name, name="plug-in"), host=None, status="unknown", reason=why)
    return StageResult(outcomes=(outcome,))
