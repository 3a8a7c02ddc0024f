"""Fixes of what was found, each tried on a copy of the settings: it removes its finding, and adds none. Pure.

A fix that does neither, and what has none, needs a decision: whoever runs the job knows what is meant.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from nccltool.core.findings import SEVERITIES
from nccltool.core.text import escaped, shortened
from nccltool.doctor import edits as doctor_edits
from nccltool.doctor.edits import Edit, FileEdit, NotEditable
from nccltool.doctor.judge import FindingOnHosts, Judgement
from nccltool.doctor.report import LineFix
from nccltool.doctor.rules.base import JudgedHost

_MOST_TRIALS = 64
"""Each judges all hosts again; what is left then needs a decision."""
_MOST_STEPS = 3
"""`export X = "4M"` of a configuration file takes as many: the form of the line, the quotes, the unit."""
_LONGEST = 2000
_Key: TypeAlias = tuple[str, str, str]
_Judged: TypeAlias = Callable[[Sequence[JudgedHost]], Judgement]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """What is edited together, and the findings that are gone then."""

    problems: tuple[FindingOnHosts, ...]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FixPlan:
    """What can be fixed without harm, in this order, and what needs a decision."""

    fixed: tuple[Repair, ...] = ()
    undecided: tuple[FindingOnHosts, ...] = ()

    def lines(self) -> Iterator[str]:
        """For a shell; what is not for it is a comment."""
        for repair in self.fixed:
            yield from map(_heading, repair.problems)
            yield from (edit.line for edit in repair.edits)
        for problem in self.undecided:
            yield _heading(problem)
            yield f"# needs a decision: {_shown(problem.found.remedy)}"
        if not (self.fixed or self.undecided):
            yield "# nothing to fix"


def _heading(problem: FindingOnHosts) -> str:
    return f"# {problem.rule.code} {problem.rule.name}: {_shown(problem.found.message)}"


def _shown(text: str) -> str:
    return escaped(shortened(text, _LONGEST))


def plan(hosts: Sequence[JudgedHost], problems: Sequence[FindingOnHosts], judged: _Judged) -> FixPlan:
    """Try the fixes of errors and warnings, the worst first; a hint is never fixed.

    `judged`: what all rules say of the hosts, also those that found none of the problems.
    """
    codes = {problem.rule.code for problem in problems}
    state = _State(tuple(hosts), judged(hosts))
    waiting = _grave(problems, codes)
    repairs, trials = list[Repair](), 0
    while True:
        for problem in sorted(waiting, key=_loses_setting):
            if not problem.found.fix or trials >= _MOST_TRIALS:
                continue
            trials += 1
            if (made := _repaired(problem, state, judged)) is None:
                continue
            edits, state = made
            left = _grave(state.judgement.problems, codes)
            repairs.append(Repair(problems=tuple(_gone(waiting, left)), edits=edits))
            waiting = left
            break
        else:
            return FixPlan(fixed=_merged(repairs), undecided=tuple(waiting))


@dataclass(frozen=True, slots=True)
class _State:
    """Hosts, and what all rules say of them."""

    hosts: tuple[JudgedHost, ...]
    judgement: Judgement


def _repaired(problem: FindingOnHosts, state: _State, judged: _Judged) -> tuple[tuple[Edit, ...], _State] | None:
    """The edits that remove a problem, and what is then; what they bring with them is removed in turn."""
    before, now, todo = _tally(state.judgement.problems), state, problem
    edits: tuple[Edit, ...] = ()
    for _ in range(_MOST_STEPS):
        more = _edits(todo, now.hosts)
        hosts = _edited(now.hosts, todo, more) if more else None
        if hosts is None:
            return None
        edits, now = (*edits, *more), _State(hosts, judged(hosts))
        after = _tally(now.judgement.problems)
        if _heals(before, after, _key(problem)):
            return edits, now
        new = [one for one in now.judgement.problems if _is_worse(_key(one), before, after)]
        next_ones = [one for one in new if one.severity != "info" and one.found.fix and not _loses_setting(one)]
        if not next_ones:
            return None
        todo = next_ones[0]
    return None


def _edited(
    hosts: Sequence[JudgedHost], problem: FindingOnHosts, edits: Sequence[Edit]
) -> tuple[JudgedHost, ...] | None:
    """The hosts, those with the problem behind these edits."""
    try:
        return tuple(doctor_edits.applied(host, edits) if _concerns(problem, host) else host for host in hosts)
    except NotEditable:
        return None


def _loses_setting(problem: FindingOnHosts) -> bool:
    """Whether its fix only unsets."""
    return not any(isinstance(fix, LineFix) or fix.value is not None for fix in problem.found.fix)


def _gone(before: Sequence[FindingOnHosts], after: Sequence[FindingOnHosts]) -> Iterator[FindingOnHosts]:
    counts, left = _tally(before), _tally(after)
    still = {(one.rule.code, one.found) for one in after}
    for one in before:
        if left.get(_key(one), (0, 0))[0] < counts[_key(one)][0] and (one.rule.code, one.found) not in still:
            yield one


def _merged(repairs: Sequence[Repair]) -> tuple[Repair, ...]:
    """Repairs of the same place as one: what counts is what is there in the end."""
    merged = list[Repair]()
    for repair in repairs:
        places = {edit.place for edit in repair.edits}
        same = [one for one in merged if not places.isdisjoint(edit.place for edit in one.edits)]
        both = (*same, repair)
        last = {edit.place: edit for one in both for edit in one.edits}
        kept = tuple(_as_new(edit, both) for edit in last.values())
        problems = tuple(problem for one in both for problem in one.problems)
        whole = Repair(problems=problems, edits=tuple(edit for edit in kept if edit is not None))
        if same:
            merged[merged.index(same[0])] = whole
            merged = [one for one in merged if one not in same[1:]]
        else:
            merged.append(whole)
    return tuple(merged)


def _as_new(edit: Edit, repairs: Sequence[Repair]) -> Edit | None:
    """An edit of a line that is only now added adds what is there in the end; None: nothing."""
    if not isinstance(edit, FileEdit):
        return edit
    places = {one.place for repair in repairs for one in repair.edits if isinstance(one, FileEdit) and one.is_new}
    if edit.place not in places:
        return edit
    return None if edit.text is None else replace(edit, is_new=True)


def _grave(problems: Sequence[FindingOnHosts], codes: set[str]) -> list[FindingOnHosts]:
    return [one for one in problems if one.severity != "info" and one.rule.code in codes]


def _key(problem: FindingOnHosts) -> _Key:
    return problem.rule.code, problem.found.subject.kind, problem.found.subject.name


def _tally(problems: Sequence[FindingOnHosts]) -> dict[_Key, tuple[int, int]]:
    """(how often it was found, how bad it is: 0 = an error) of each finding."""
    counts = Counter(_key(problem) for problem in problems)
    worst: dict[_Key, int] = {}
    for problem in problems:
        bad = SEVERITIES.index(problem.severity)
        worst[_key(problem)] = min(bad, worst.get(_key(problem), bad))
    return {key: (count, worst[key]) for key, count in counts.items()}


_NONE = (0, len(SEVERITIES))


def _is_worse(key: _Key, before: dict[_Key, tuple[int, int]], after: dict[_Key, tuple[int, int]]) -> bool:
    (count, bad), (old_count, old_bad) = after.get(key, _NONE), before.get(key, _NONE)
    return count > old_count or bad < old_bad


def _heals(before: dict[_Key, tuple[int, int]], after: dict[_Key, tuple[int, int]], key: _Key) -> bool:
    """Whether a finding is gone, none came, and none became worse."""
    is_less = after.get(key, _NONE)[0] < before.get(key, _NONE)[0]
    return is_less and not any(_is_worse(one, before, after) for one in after)


def _concerns(problem: FindingOnHosts, host: JudgedHost) -> bool:
    return not problem.hosts or host.name in problem.hosts


def _edits(problem: FindingOnHosts, hosts: Sequence[JudgedHost]) -> tuple[Edit, ...]:
    concerned = next((host for host in hosts if _concerns(problem, host) and not host.settings.unread), None)
    if concerned is None:
        return ()
    return doctor_edits.edits_of(problem.found.fix, problem.found.subject, concerned)
