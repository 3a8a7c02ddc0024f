"""What torch really called and kept in a step, as it was counted. Frozen; crosses to the worker as JSON."""

from dataclasses import dataclass

from nccltool.plan.layout import ParallelLayout
from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedCalls:
    """Calls of an operation in a group of so many ranks."""

    operation: str
    ranks: int
    count: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedRank:
    """Of one rank: what it called, and bytes that it has."""

    calls: tuple[CountedCalls, ...]
    parameters: int
    gradients: int
    optimizer: int
    """Without counters of steps."""
    activations: int
    """The most at the end of a forward pass, without logits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountOrder:
    """What to count."""

    model: Model
    layout: ParallelLayout
    recipe: Recipe
    rank: int
    """Of the pipeline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountResult:
    """What came of it: one of both."""

    rank: CountedRank | None = None
    error: str = ""
