"""The state of a job: healthy, slow, hung, starting, ending, or unknown, and the sentence that says so."""

from collections.abc import Sequence

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import CauseName, Culprit, JobState
from nccltool.attach.judge.views import ends_of
from nccltool.attach.phases.result import STARTS

HUNG_AFTER_S = 10.0
"""Ranks of a healthy job wait for each other, but seldom that long. A stopped process needs no such time."""
_STEPS_OF_WAIT = 2.0
"""A rank waits at most for the longest part of a step of another one; twice that is no part of a step."""
_LONGEST_WAIT_S = 600.0
"""torch's limit for a collective over NCCL."""
_CERTAIN: frozenset[CauseName] = frozenset(("dead", "out-of-memory", "stopped", "frozen", "traced"))
DEFINITE: frozenset[CauseName] = _CERTAIN | {"missing-rank", "store"}
"""What may be said of a job that starts."""
_COMES_BACK: frozenset[CauseName] = frozenset(("checkpoint-slow", "compiling", "starting"))
_STARTS_WITHIN_S = 120.0
"""Imports on a busy host and a cold compiler cache took tens of seconds."""
_STARTS_AT_ALL_S = 600.0
"""Where a rank is busy in its own code: torch's limit for a NCCL group to come together. Imports may be slower."""
_NAMED_WITHIN_S = 30.0
"""Where a rank is known to be missing, stopped, or dead: the ranks of a host are started within a second."""
_GPU_STEP_S = 60.0
"""A step of a large model keeps the CPU waiting for its GPU for tens of seconds."""


_YOUNG_S = 600.0
"""A process that is older has made a step: compiling a large model took minutes."""


def state_of(case: Case, culprits: Sequence[Culprit]) -> JobState:
    running = case.running
    if not case.views:
        return "unknown"
    if not running or _is_ending(case):
        return "ending"
    certain = [one for one in culprits if one.cause in _CERTAIN and one.level != "low"]
    if certain and (case.blocked is not False or not case.waiting):
        return "hung" if all(len(view.samples) > 1 for view in running) else "unknown"
    if is_starting(case):
        return _starts(case, culprits)
    if case.blocked is True:
        return _blocked(case, culprits)
    if case.progress.is_slower:
        return "slow"
    if case.blocked is None and (not _moves(case) or _is_one_part(case)):
        return "slow" if any(one.cause == "shared-storage" for one in culprits) else "unknown"
    return "slow" if any(one.level != "low" for one in culprits) else "healthy"


def _starts(case: Case, culprits: Sequence[Culprit]) -> JobState:
    """Starting takes time while something moves; without, it has a limit."""
    named = any(one.cause in DEFINITE and one.level != "low" for one in culprits)
    waited, age = case.since_s or 0.0, age_s(case) or 0.0
    if named and case.blocked is not False and (waited >= HUNG_AFTER_S or age >= _NAMED_WITHIN_S):
        return "hung"
    if any(view.progresses for view in case.running):
        return "starting"
    moves = case.blocked is False or any(view.is_static is not True for view in case.running)
    return "hung" if max(waited, age) >= (_STARTS_AT_ALL_S if moves else _STARTS_WITHIN_S) else "starting"


def age_s(case: Case) -> float | None:
    """Since when all ranks that are there have been there."""
    ages = [view.age_s for view in case.running]
    known = [age for age in ages if age is not None]
    return min(known) if known and len(known) == len(ages) else None


def too_short_s(case: Case) -> float:
    """How long ranks must have waited before they hang."""
    is_gpu = any(view.phase.kind == "gpu" for view in case.waiting) and not case.ras.is_unequal
    is_known = any(wait.group and wait.for_ranks for wait in case.waits)
    least = _GPU_STEP_S if is_gpu and not is_known and not case.suspects else HUNG_AFTER_S
    return max(least, min(_STEPS_OF_WAIT * (case.progress.step_s or 0.0), _LONGEST_WAIT_S))


def _blocked(case: Case, culprits: Sequence[Culprit]) -> JobState:
    if case.progress.advanced:
        return "slow" if case.progress.is_slower or any(one.level != "low" for one in culprits) else "healthy"
    if (case.since_s or 0.0) < too_short_s(case):
        return "healthy" if any(view.is_busy for view in case.suspects) else "unknown"
    named = [one for one in culprits if one.level != "low"]
    if named and all(one.cause in _COMES_BACK for one in named):
        return "slow"
    return "hung"


def _moves(case: Case) -> bool:
    """Steps in the log show it; without stacks, a busy core may be a thread that spins until its GPU is done."""
    is_work = not (case.is_blind and case.is_nccl)
    return case.progress.advanced is True or any(
        view.is_static is False or (view.is_busy and is_work) for view in case.views
    )


def _is_one_part(case: Case) -> bool:
    """Ranks that were not looked at may wait for those that were: only steps, or work, tell that these do not."""
    is_work = any(view.is_busy for view in case.views)
    return case.not_looked_at > 0 and not is_work and case.progress.advanced is not True


def _is_ending(case: Case) -> bool:
    """An interpreter that is being taken down has no stack any more."""
    kinds = {view.phase.kind for view in case.running}
    return (
        "leaving" in kinds and kinds <= {"leaving", "unknown"} and not any(view.condition for view in case.running)
    )


def is_starting(case: Case) -> bool:
    """No rank has come as far as a step: all import, join, or have not called torch.distributed yet."""
    running = [view for view in case.running if not view.condition]
    ends = ends_of(case.views)
    connected = any((peer, local) in ends for local, peer in ends)
    begun = [view for view in running if view.phase.kind in STARTS]
    if case.ras.answered:
        return False
    if connected:  # the first step compiles, or imports
        is_young = max((view.age_s or _YOUNG_S for view in running), default=_YOUNG_S) < _YOUNG_S
        return len(begun) == len(running) > 0 and case.progress.step is None and is_young
    if case.is_blind:
        return bool(running) and not any(view.has_group for view in running)
    return bool(begun) and len(begun) + len(case.suspects) >= len(running)


def message_of(case: Case, state: JobState, culprits: Sequence[Culprit]) -> str:
    since = f" for at least {case.since_s:.0f} s" if case.since_s else ""
    allowed = DEFINITE if state == "starting" else frozenset(one.cause for one in culprits)
    named = [one for one in culprits if one.level != "low" and one.cause in allowed]
    because = f": {named[0].message}" if named else ""
    if state == "hung":
        if is_starting(case):
            return f"does not start{_for(age_s(case))}{because or _who_came(case)}"
        return f"hung{since}{because or ': no rank stands out'}"
    if state == "slow":
        return f"slow{_steps(case)}{because}"
    if state == "healthy":
        return "healthy: the ranks move" + (" (no stack could be read)" if case.is_blind else "")
    if state == "starting":
        return f"starting{_for(age_s(case))}{because or _who_came(case)}"
    if state == "ending":
        return "ending: the ranks leave"
    return f"unknown: {_why_unknown(case)}"


def _for(seconds: float | None) -> str:
    return "" if seconds is None else f" for {seconds:.0f} s" if seconds < 120 else f" for {seconds / 60:.0f} min"


def _who_came(case: Case) -> str:
    """How many ranks were seen, where that says something."""
    size = case.look.world_size
    seen = len({view.rank for view in case.running if view.rank is not None})
    return f": {seen} of {size} ranks were seen" if size and 0 < seen < size else ""


def _steps(case: Case) -> str:
    slower = case.progress
    if slower.step_s is None or slower.usual_step_s is None:
        return ""
    since = "" if slower.slower_since_s is None else f" for {slower.slower_since_s:.0f} s"
    return f"{since}, {slower.step_s:.3g} s a step instead of {slower.usual_step_s:.3g} s"


def _why_unknown(case: Case) -> str:
    if not case.views:
        return "no rank was found"
    if all(len(view.samples) < 2 for view in case.views):
        return "one sample shows no progress; look again"
    if case.blocked is True and case.since_s is not None:
        least = too_short_s(case)
        step_s = case.progress.step_s or 0.0
        told = f"a step takes {step_s:.0f} s" if least == _STEPS_OF_WAIT * step_s else "a long step looks the same"
        more = f", {told}; look again with --interval {least:.0f}" if least > HUNG_AFTER_S else "; look again"
        return f"ranks have waited for {case.since_s:.0f} s so far, which is too short to tell{more}"
    if _is_one_part(case):
        return f"{case.not_looked_at} ranks were not looked at, and the others show no step"
    if all(view.phase.kind == "unknown" for view in case.views):
        return "no stack could be read, and /proc does not show whether the ranks move"
    return "the samples do not show whether it moves"
