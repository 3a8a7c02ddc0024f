"""The state of a job: healthy, slow, hung, starting, ending, or unknown, and the sentence that says so."""

from collections.abc import Sequence

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import CauseName, Culprit, JobState
from nccltool.attach.judge.views import ends_of
from nccltool.attach.phases.result import STARTS

HUNG_AFTER_S = 10.0
"""Ranks of a healthy job wait for each other, but seldom that long. A stopped process needs no such time."""
_CERTAIN: frozenset[CauseName] = frozenset(("dead", "out-of-memory", "stopped", "frozen", "traced"))
DEFINITE: frozenset[CauseName] = _CERTAIN | {"missing-rank", "store"}
"""What may be said of a job that starts."""
_COMES_BACK: frozenset[CauseName] = frozenset(("checkpoint-slow", "compiling", "starting"))
_STARTS_WITHIN_S = 120.0
"""Imports on a busy host and a cold compiler cache took tens of seconds."""


def state_of(case: Case, culprits: Sequence[Culprit]) -> JobState:
    running = [view for view in case.views if view.condition != "dead"]
    if not case.views:
        return "unknown"
    if not running or _is_ending(case):
        return "ending"
    certain = [one for one in culprits if one.cause in _CERTAIN and one.level != "low"]
    if certain and (case.blocked is not False or not case.waiting):
        return "hung" if all(len(view.samples) > 1 for view in running) else "unknown"
    if _is_starting(case):
        named = any(one.cause in DEFINITE and one.level != "low" for one in culprits)
        limit = HUNG_AFTER_S if named else _STARTS_WITHIN_S
        return "hung" if case.blocked and (case.since_s or 0.0) >= limit else "starting"
    if case.blocked is True:
        return _blocked(case, culprits)
    if case.blocked is None and not _moves(case):
        return "slow" if any(one.cause == "shared-storage" for one in culprits) else "unknown"
    return "slow" if any(one.level != "low" for one in culprits) else "healthy"


def _blocked(case: Case, culprits: Sequence[Culprit]) -> JobState:
    if (case.since_s or 0.0) < HUNG_AFTER_S:
        return "healthy" if any(view.is_busy for view in case.suspects) else "unknown"
    named = [one for one in culprits if one.level != "low"]
    if named and all(one.cause in _COMES_BACK for one in named):
        return "slow"
    return "hung"


def _moves(case: Case) -> bool:
    return any(view.is_static is False or view.is_busy for view in case.views)


def _is_ending(case: Case) -> bool:
    """An interpreter that is being taken down has no stack any more."""
    running = [view for view in case.views if view.condition != "dead"]
    kinds = {view.phase.kind for view in running}
    return "leaving" in kinds and kinds <= {"leaving", "unknown"} and not any(view.condition for view in running)


def _is_starting(case: Case) -> bool:
    """No rank has come as far as a step: all import, join, or have not called torch.distributed yet."""
    running = [view for view in case.views if not view.condition]
    begun = [view for view in running if view.phase.kind in STARTS]
    ends = ends_of(case.views)
    connected = any((peer, local) in ends for local, peer in ends)
    return (
        bool(begun) and not connected and len(begun) + len(case.suspects) >= len(running) and not case.ras.answered
    )


def message_of(case: Case, state: JobState, culprits: Sequence[Culprit]) -> str:
    since = f" for at least {case.since_s:.0f} s" if case.since_s else ""
    allowed = DEFINITE if state == "starting" else frozenset(one.cause for one in culprits)
    named = [one for one in culprits if one.level != "low" and one.cause in allowed]
    because = f": {named[0].message}" if named else ""
    if state == "hung":
        return f"hung{since}{because or ': no rank stands out'}"
    if state == "slow":
        return f"slow{because}"
    if state == "healthy":
        return "healthy: the ranks move"
    if state == "starting":
        return f"starting{because}"
    if state == "ending":
        return "ending: the ranks leave"
    return f"unknown: {_why_unknown(case)}"


def _why_unknown(case: Case) -> str:
    if not case.views:
        return "no rank was found"
    if all(len(view.samples) < 2 for view in case.views):
        return "one sample shows no progress; look again"
    if all(view.phase.kind == "unknown" for view in case.views):
        return "no stack could be read"
    if case.blocked is True and case.since_s is not None:
        return f"ranks have waited for {case.since_s:.0f} s so far, which is too short to tell; look again"
    return "the samples do not show whether it moves"
