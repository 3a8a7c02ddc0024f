"""CHECK which rank comes last to collectives, from their durations alone: no clocks are compared.

No rank leaves an all-reduce before the last one has entered it, so the one that enters last spends the least time
in it. A step is one observation, whatever the number of its collectives: what makes a rank late lasts for several
in a row. A rank is named if it is last in more steps than chance explains, and steps would be shorter without it.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from statistics import median

from nccltool.trace import names
from nccltool.trace.result import MatchedGroup, RankTrace, StepArrivals

BY_CHANCE = 0.01
"""Of all runs in which each rank is as likely to be last, the share that may name one (Bonferroni)."""
LEAST_SHARE = 0.05
"""Of a step, at least, that the others wait for it. Of two equal simulated GPUs on a host with a load of 7, one
was late by up to 4 %."""
LEAST_SHARE_ON_CPUS = 0.1
"""Ranks that share cores are late now and then: in a healthy run on 2 cores at a load of 24, by 7 % of a step."""
LEAST_S = 1e-3
"""On CPUs a lateness under 1 ms cannot be told from noise: `probe.late_rank` has the measurement."""


def arrivals(groups: Sequence[MatchedGroup], traces: Sequence[RankTrace]) -> tuple[StepArrivals, ...]:
    """For each matched group, who came last."""
    by_rank = {trace.rank: trace for trace in traces if trace.rank is not None}
    known = [one for one in groups if one.collectives]
    return tuple(one for group in known if (one := _of_group(group, by_rank, len(known))) is not None)


def _of_group(group: MatchedGroup, by_rank: Mapping[int, RankTrace], groups: int) -> StepArrivals | None:
    rows = [row for row in group.collectives if row[0].operation in names.SYNCHRONIZING]
    if len(group.ranks) < 2 or not rows:
        return None
    waited = [sum(column) for column in zip(*(_waits([one.seconds for one in row]) for row in rows), strict=True)]
    steps = _by_step(group, by_rank)
    last_in, gains = last_of(steps)
    first = max(range(len(last_in)), key=last_in.__getitem__)
    chance = chance_of(last_in[first], len(steps), len(group.ranks), groups) if steps else None
    gain = median(mine[first] for mine in gains) if gains else None
    why = group.unnamed or _why_not(by_rank[group.ranks[first]], steps, chance, gain)
    return StepArrivals(
        group=group.group,
        ranks=group.ranks,
        collectives=len(rows),
        steps=len(steps),
        last_in=tuple(last_in),
        waited_s=tuple(waited),
        rank=None if why else group.ranks[first],
        gain_s=gain,
        chance=chance,
        why_not=why,
    )


def _waits(durations: Sequence[float]) -> list[float]:
    return [one - min(durations) for one in durations]


def _by_step(group: MatchedGroup, by_rank: Mapping[int, RankTrace]) -> list[list[float]]:
    """For each step with collectives, the seconds that each rank spent in them. Steps are the first rank's."""
    steps = by_rank[group.ranks[0]].steps
    begins = [step.begin_s for step in steps]
    sums: dict[int, list[float]] = {}
    for row in group.collectives:
        at = bisect_right(begins, row[0].begin_s) - 1
        if row[0].operation in names.SYNCHRONIZING and at >= 0 and row[0].begin_s < steps[at].end_s:
            spent = sums.setdefault(at, [0.0] * len(row))
            for place, one in enumerate(row):
                spent[place] += one.seconds
    return [sums[at] for at in sorted(sums)]


def last_of(steps: Sequence[Sequence[float]]) -> tuple[list[int], list[list[float]]]:
    """(how often each rank spent the least, how much less than each other rank at least; below 0 = more)."""
    width = len(steps[0]) if steps else 1
    last_in, gains = [0] * width, []
    for spent in steps:
        order = sorted(range(width), key=spent.__getitem__)
        least, second = spent[order[0]], spent[order[1]]
        if second > least:
            last_in[order[0]] += 1
        gains.append([(second if place == order[0] else least) - one for place, one in enumerate(spent)])
    return last_in, gains


def chance_of(last: int, steps: int, ranks: int, groups: int) -> float:
    """That any rank of any group is last so often, if each is as likely to be."""
    tail = sum(math.exp(_log_of(number, steps, ranks)) for number in range(last, steps + 1))
    return min(1.0, tail * ranks * groups)


def _log_of(last: int, steps: int, ranks: int) -> float:
    """The logarithm of a binomial probability: whole numbers would have a digit for each step."""
    ways = math.lgamma(steps + 1) - math.lgamma(last + 1) - math.lgamma(steps - last + 1)
    return ways + (steps - last) * math.log(ranks - 1) - steps * math.log(ranks)


def _why_not(trace: RankTrace, steps: Sequence[object], chance: float | None, gain: float | None) -> str:
    if not trace.steps:
        return "the traces do not mark steps"
    if chance is None or gain is None:
        return "no step has collectives"
    if chance > BY_CHANCE:
        return f"no rank is last more often than chance explains in {len(steps)} steps"
    step_s = median(step.seconds for step in trace.steps)
    limit = step_s * LEAST_SHARE if trace.has_gpu else max(step_s * LEAST_SHARE_ON_CPUS, LEAST_S)
    if gain < limit:
        return f"the rank last most often delays a step by less than {limit * 1e3:.2g} ms"
    is_idle = trace.use.launch_s is not None and trace.use.launch_s / len(trace.steps) >= gain
    return "the GPU of the rank last most often waits longer for its launches" if is_idle else ""
