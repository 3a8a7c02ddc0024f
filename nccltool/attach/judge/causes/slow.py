"""Row 11: the job moves, and one rank is slower than the others."""

from collections.abc import Iterator, Sequence

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import Culprit, Level
from nccltool.attach.judge.views import RankView

_THROTTLED, _WITHOUT_A_CORE = 0.2, 0.5
"""Share of the time beyond the median of the ranks. On a busy host, all ranks wait for cores."""
_LEAST_READY = 0.02
"""Share of the time in which a rank must have been ready to run, to be compared: on a busy host, a rank that works
while the others wait for it is the only one that lacks a core."""
_SLOWED = frozenset(("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"))


def clues(case: Case) -> Iterator[Culprit]:
    if case.blocked is True or len(case.views) < 2:
        return
    found = [
        (view, told, level) for view in case.views if not view.condition for told, level in _starved(case, view)
    ]
    if found and len({view.found.pid for view, _, _ in found}) <= len(case.views) / 2:
        for view, told, level in found:
            yield case.of_rank("cpu-starved", view, "gets too little CPU time", told, level=level)
        return
    yield from _slowed_gpus(case)
    if not found:
        yield from _last_often(case)


def _starved(case: Case, view: RankView) -> Iterator[tuple[str, Level]]:
    throttled = _beyond(view.throttled_share, [one.throttled_share for one in case.views])
    if throttled is not None and throttled >= _THROTTLED:
        yield f"throttled by its cgroup for {min(view.throttled_share or 0, 1):.0%} of the time", "high"
    others = [_lacks_a_core(one) for one in case.views if one is not view and one.host is view.host]
    delayed = _beyond(_lacks_a_core(view), others)
    if delayed is not None and delayed >= _WITHOUT_A_CORE and (view.waits_for_a_core or 0) >= _WITHOUT_A_CORE:
        yield f"ready and without a core for {min(view.waits_for_a_core or 0, 1):.0%} of the time", "medium"


def _lacks_a_core(view: RankView) -> float | None:
    """Of the time in which it was ready to run; None = that was too short, or is not known."""
    delay, cpu = view.waits_for_a_core, view.cpu_share
    ready = (delay or 0.0) + (cpu or 0.0)
    return None if delay is None or cpu is None or ready < _LEAST_READY else delay / ready


def _beyond(value: float | None, everyone: Sequence[float | None]) -> float | None:
    """By how much it is above the median."""
    known = sorted(one for one in everyone if one is not None)
    return None if value is None or not known else value - known[(len(known) - 1) // 2]


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
