"""Schedules of a pipeline, and the share of a step in which the ranks of each have nothing to compute. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

_INTERLEAVED = "Narayanan and others 2021, Efficient Large-Scale Language Model Training, section 2.2"
_ZERO_BUBBLE = "Qi and others 2024, Zero Bubble Pipeline Parallelism"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """In which order ranks compute micro-batches.

    A bubble is that of p ranks with v equal stages each and m micro-batches, where a backward pass takes two
    forward passes (of which its halves, for inputs and for weights, take one each) and communication nothing.
    """

    stages: int
    """On each rank, unless more are asked for."""
    most_stages: int | None = None
    """None = any number."""
    least_stages: int = 1
    bubble: Callable[[int, int, int], float]
    expression: str
    source: str
    least_rounds: int = 1
    """Fewer micro-batches for each rank do not fill the pipeline, and the bubble is not known."""


_ONE_STAGE = Schedule(
    stages=1,
    most_stages=1,
    bubble=lambda p, m, v: (p - 1) / (m + p - 1),
    expression="(p - 1) / (m + p - 1)",
    source=_INTERLEAVED,
)
SCHEDULES = {
    "gpipe": replace(_ONE_STAGE, source="GPipe, Huang and others 2019, section 2.3"),
    "1f1b": _ONE_STAGE,
    "interleaved": Schedule(
        stages=2,
        least_stages=2,
        bubble=lambda p, m, v: (p - 1) / (v * m + p - 1),
        expression="(p - 1) / (v m + p - 1)",
        source=_INTERLEAVED,
    ),
    "zero-bubble": Schedule(
        stages=1,
        bubble=lambda p, m, v: (p - 1) / (3 * v * m + p - 1),
        expression="(p - 1) / (3 v m + p - 1)",
        source=f"{_ZERO_BUBBLE}, table 1 (ZB-H1)",
    ),
    "zbv": Schedule(
        stages=2,
        most_stages=2,
        least_stages=2,
        bubble=lambda p, m, v: (p - 1) / (6 * m + p - 1),
        expression="(p - 1) / (6 m + p - 1)",
        source=f"{_ZERO_BUBBLE}, section 6 (ZB-V); what remains is the time until work reaches the last rank",
        least_rounds=2,
    ),
}


def stages_of(name: str, asked: int | None) -> int:
    """Stages on each rank."""
    return SCHEDULES[name].stages if asked is None else asked


def bubble(name: str, ranks: int, micro_batches: int, stages: int) -> float | None:
    """The share of a step in which a rank has nothing to compute; None = not known for so few micro-batches."""
    schedule = SCHEDULES[name]
    if ranks > 1 and micro_batches < schedule.least_rounds * ranks - 1:
        return None
    return schedule.bubble(ranks, micro_batches, stages)
