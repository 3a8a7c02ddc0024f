"""What a plan says: each strategy at its best, which one to take, and why. Frozen."""

from dataclasses import dataclass

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.core.verdicts import Verdict
from nccltool.plan.checked import CheckedStrategy
from nccltool.plan.hardware import Machine
from nccltool.plan.layout import ParallelLayout
from nccltool.plan.memory import Memory
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe
from nccltool.plan.scaling import PredictedCurve
from nccltool.plan.step_time import StepTime


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedStrategy:
    """A layout, and what it costs."""

    layout: ParallelLayout
    fits: bool
    memory: Memory
    time: StepTime
    fastest_s: float
    slowest_s: float
    """Of the interval of a step's time."""
    tokens_per_s: float
    """Of all GPUs."""
    mfu: float
    """Model FLOPs utilization: of the data sheet's peak."""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The answer of `nccltool plan`."""

    info: RunInfo
    verdict: Verdict
    findings: tuple[Finding, ...]
    model: Model
    machine: Machine
    is_assumed: bool
    """Nobody named the machine."""
    recipe: Recipe
    gpus: int
    strategies: tuple[PlannedStrategy, ...]
    """One of each kind, the choice first, then the fastest; those that do not fit last."""
    choice: PlannedStrategy | None
    """None: nothing fits."""
    searched: int
    """Layouts that were worked out."""
    tokens: int | None = None
    """Of the whole training, where that was asked."""
    checks: tuple[CheckedStrategy, ...] | None = None
    """What torch calls and keeps; None: it was not counted."""
    scaling: tuple[PredictedCurve, ...] = ()
    """Of trainings that were named: measured and predicted."""

    @property
    def training_s(self) -> float | None:
        """Seconds of the whole training, without failures and restarts; None: not asked, or nothing fits."""
        return self.tokens / self.choice.tokens_per_s if self.tokens and self.choice else None
