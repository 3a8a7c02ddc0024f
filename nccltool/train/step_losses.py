"""JUDGE what the steps of a training lose time to, and whose own work is slow. Pure."""

import math
from collections.abc import Iterator, Sequence
from statistics import median_low

from nccltool.probe import late_rank
from nccltool.probe.late_rank import RankLateness
from nccltool.train import input_findings
from nccltool.train.events import TimedSteps
from nccltool.train.result import RankStarved, StepLoss, TrainingInput

MUCH = 0.1
"""Share of a step that is worth a line: a well-configured input or network takes less."""
LEAST_LATE = 0.1
"""Of a step that hosts pace: ranks that share cores are late now and then, by 7 % of a step in a healthy run on 2
cores (`trace.arrivals` has the measurement)."""
SLOW_RANK = 1.25
"""A rank whose own work took so much longer than that of the middle one is named; neighbours on one shared host
differ by some percent."""
BY_CHANCE = 0.01
"""Of all runs of equally fast ranks, the share that may name one (Bonferroni)."""


def of(
    timed: TimedSteps | None,
    step_s: float | None,
    exposed: float | None,
    given: TrainingInput | None,
    late: Sequence[RankLateness],
) -> tuple[StepLoss, ...]:
    """What the timed steps lose time to."""
    if timed is None:
        return ()
    moving_s, launch_s = (timed.moving_ns or 0) / 1e9, None if timed.launch_ns is None else timed.launch_ns / 1e9
    late_calls_s = (timed.late_calls_ns or 0) / 1e9
    return losses(step_s, exposed, given, late, timed.starved, moving_s, launch_s, late_calls_s)


def losses(
    step_s: float | None,
    exposed: float | None,
    given: TrainingInput | None,
    late: Sequence[RankLateness],
    starved: RankStarved | None,
    moving_s: float = 0.0,
    launch_s: float | None = None,
    late_calls_s: float = 0.0,
) -> tuple[StepLoss, ...]:
    """All that are worth a line, the largest first. `moving_s`: time that the data of a step waited for a core;
    `launch_s`: time that GPUs waited for launches in a step without communication; `late_calls_s`: and for
    communication that hosts launched late, which no faster network shortens. What one rank costs is neither."""
    if step_s is None:
        return ()
    held_up = [*_late(step_s, late), *_starved(starved)]
    found = [*_input(given), *sorted(held_up, key=lambda one: -one.share)[:1]]
    for_rank = max((one.share for one in held_up), default=0.0)
    if launch_s is not None:
        share = min(1.0, (launch_s + late_calls_s) / step_s) - for_rank
        found.append(StepLoss(cause="launch", share=share, rank=None))
    if exposed is not None:
        waited = max(moving_s / step_s, for_rank) + late_calls_s / step_s  # not for the network
        found.append(StepLoss(cause="communication", share=exposed - waited, rank=None))
    return tuple(sorted((one for one in found if one.share >= MUCH), key=lambda one: -one.share))


def came_late(timed: TimedSteps | None, step_s: float | None, *, on_gpus: bool) -> tuple[RankLateness, ...] | None:
    """The ranks that are worth naming, the latest first; None = arrivals were not measured. Hosts pace steps on
    CPUs, and those of GPUs that wait for launches."""
    if timed is None or timed.late_ranks is None:
        return None
    late = late_rank.of_pairs(timed.late_ranks)
    if step_s is None or (on_gpus and (timed.launch_ns or 0) / 1e9 < MUCH * step_s):
        return late
    return tuple(one for one in late if one.late_s >= LEAST_LATE * step_s)


def _input(given: TrainingInput | None) -> Iterator[StepLoss]:
    stalls = input_findings.stalls(given) if given else ()
    if slow := input_findings.slow_ranks(stalls):
        yield StepLoss(cause="input", share=stalls[slow[0]], rank=slow[0])
    elif stalls:
        yield StepLoss(cause="input", share=median_low(stalls), rank=None)


def _late(step_s: float, late: Sequence[RankLateness]) -> Iterator[StepLoss]:
    for one in late[:1]:
        yield StepLoss(cause="late rank", share=min(1.0, one.late_s / step_s), rank=one.rank)


def _starved(one: RankStarved | None) -> Iterator[StepLoss]:
    if one is not None:
        yield StepLoss(cause="late rank", share=one.share, rank=one.rank)


def slowest(rank_ns: Sequence[int], slowest_in: Sequence[int], steps: int) -> int | None:
    """The rank whose own work took much longer, in more steps than chance explains; None = none, or too few."""
    if len(rank_ns) < 2:
        return None
    ordered = sorted(rank_ns)
    rank = rank_ns.index(ordered[-1])
    if ordered[-1] <= SLOW_RANK * ordered[(len(ordered) - 1) // 2]:
        return None
    if slowest_in and _chance(slowest_in[rank], steps, len(rank_ns)) > BY_CHANCE:
        return None
    return rank


def _chance(times: int, steps: int, ranks: int) -> float:
    """That any rank is slowest so often, or more often, if each is as likely to be (binomial)."""
    tail = math.fsum(
        math.exp(math.lgamma(steps + 1) - math.lgamma(k + 1) - math.lgamma(steps - k + 1) + _log(k, steps, ranks))
        for k in range(times, steps + 1)
    )
    return min(1.0, tail * ranks)


def _log(times: int, steps: int, ranks: int) -> float:
    return (steps - times) * math.log(ranks - 1) - steps * math.log(ranks)
