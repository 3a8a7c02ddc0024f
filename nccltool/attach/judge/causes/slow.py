"""Row 11: the job moves, and one rank is slower than the others."""

from collections.abc import Iterator

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import Culprit, Level
from nccltool.attach.judge.views import RankView

_STARVED = 0.2
"""Share of the time without a core that it wanted, beyond the median of the ranks."""
_SLOWED = frozenset(("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"))


def clues(case: Case) -> Iterator[Culprit]:
    if case.blocked is True or len(case.views) < 2:
        return
    starved = [view for view in case.views if not view.condition and _starved(case, view)]
    if starved and len(starved) <= len(case.views) / 2:
        for view in starved:
            yield case.of_rank("cpu-starved", view, "gets too little CPU time", *_starved(case, view))
        return
    yield from _slowed_gpus(case)
    if not starved:
        yield from _last_often(case)


def _starved(case: Case, view: RankView) -> tuple[str, ...]:
    told = []
    for value, others, text in (
        (view.throttled_share, [one.throttled_share for one in case.views], "throttled by its cgroup"),
        (view.waits_for_a_core, [one.waits_for_a_core for one in case.views], "ready and without a core"),
    ):
        known = sorted(one for one in others if one is not None)
        if value is not None and known and value - known[(len(known) - 1) // 2] >= _STARVED:
            told.append(f"{text} for {min(value, 1):.0%} of the time")
    return tuple(told)


def _slowed_gpus(case: Case) -> Iterator[Culprit]:
    for host in case.look.hosts:
        for gpu in host.samples[-1].gpus if host.samples else ():
            reasons = _SLOWED & frozenset(gpu.slowed_by)
            if gpu.pids and reasons:
                clocks = f"{gpu.clock_mhz} of {gpu.highest_clock_mhz} MHz"
                told = f"GPU {gpu.index}: {', '.join(sorted(reasons))}, {clocks}"
                ranks = [view for view in case.views if view.host is host and view.found.pid in gpu.pids]
                if len(ranks) == 1:
                    yield case.of_rank(
                        "straggler", ranks[0], "has a GPU with lowered clocks", told, level="medium"
                    )


def _last_often(case: Case) -> Iterator[Culprit]:
    """In every sample, all others waited and this one did not: with few samples that is only a hint."""
    counts = [len(view.phases) for view in case.views]
    if min(counts) < 3:
        return
    late = [view for view in case.views if not any(phase.waits_for_ranks for phase in view.phases)]
    others = [view for view in case.views if view not in late]
    if len(late) == 1 and all(all(phase.waits_for_ranks for phase in view.phases) for view in others):
        told = f"in {min(counts)} samples the others waited for it"
        level: Level = "high" if min(counts) >= 20 else "medium"
        yield case.of_rank("straggler", late[0], "is the last one again and again", told, level=level)
