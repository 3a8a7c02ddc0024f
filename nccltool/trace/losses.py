"""What costs a job time, the largest share of its steps first: input, launches, a late rank, or communication."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal

from nccltool.trace.result import RankTrace, StepArrivals, TimeLoss

MUCH = 0.1
"""Share of the steps' time that is worth a warning: a well-configured DataLoader or loop leaves less unused."""
Part = Literal["input", "launch", "exposed"]


def losses(traces: Sequence[RankTrace], arrivals: Sequence[StepArrivals]) -> tuple[TimeLoss, ...]:
    """All that are worth a warning; `arrivals` has already decided on late ranks."""
    found = [*_worst("input", traces), *_worst("launch", traces), *_communication(traces, arrivals)]
    found = [one for one in found if one.share >= MUCH]
    found += [one for group in arrivals for one in _late_rank(group, traces)]
    return tuple(sorted(found, key=lambda one: -one.share))


def step_s(traces: Sequence[RankTrace]) -> float | None:
    """Of the slowest rank, the median step, as the headline names it; None = no trace marks steps."""
    return max((median(step.seconds for step in one.steps) for one in traces if one.steps), default=None)


def shares(part: Part, traces: Sequence[RankTrace]) -> list[tuple[float, RankTrace]]:
    """Of the time of the steps, for each trace that shows it."""
    parts = [(getattr(one.use, f"{part}_s"), one) for one in traces if one.use.window_s]
    return [(lost_s / one.use.window_s, one) for lost_s, one in parts if lost_s is not None]


def waited(trace: RankTrace, arrivals: Sequence[StepArrivals]) -> float | None:
    """Share of the steps that a rank waited for the last one, which no faster network shortens; None = unknown."""
    waits = [
        one.waited_s[one.ranks.index(trace.rank)]
        for one in arrivals
        if trace.rank is not None and trace.rank in one.ranks
    ]
    return sum(waits) / trace.use.window_s if waits else None


def input_excess(rank: int, traces: Sequence[RankTrace]) -> float:
    """By how much more of its steps a rank waits for input than the typical other one; 0 = no more, or unknown."""
    found = {trace.rank: share for share, trace in shares("input", traces)}
    mine = found.pop(rank, 0.0)
    return max(0.0, mine - median(found.values())) if found else 0.0


def _worst(cause: Literal["input", "launch"], traces: Sequence[RankTrace]) -> Iterator[TimeLoss]:
    if found := shares(cause, traces):
        share, trace = max(found, key=lambda one: one[0])
        yield TimeLoss(cause=cause, share=share, rank=trace.rank, file=trace.file)


def _communication(traces: Sequence[RankTrace], arrivals: Sequence[StepArrivals]) -> Iterator[TimeLoss]:
    """Of the typical rank, without its waits for the last one."""
    if found := [max(0.0, share - (waited(one, arrivals) or 0.0)) for share, one in shares("exposed", traces)]:
        yield TimeLoss(cause="communication", share=median(found), rank=None)


def _late_rank(group: StepArrivals, traces: Sequence[RankTrace]) -> Iterator[TimeLoss]:
    """Without what its input explains: that must be fixed first."""
    late = next((one for one in traces if one.rank == group.rank), None)
    if group.rank is not None and group.gain_s is not None and late is not None:
        share = group.gain_s / (step_s(traces) or 1.0)
        more = input_excess(group.rank, traces)
        yield TimeLoss(cause="late rank", share=max(0.0, share - more), rank=group.rank, file=late.file)
