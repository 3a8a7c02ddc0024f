"""Fixes of what was found, each tried on a copy of the settings: it removes its finding, and adds none. Pure.

A fix that does neither, and what has none, needs a decision: whoever runs the job knows what is meant.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from nccltool.core.findings import SEVERITIES
from nccltool.core.text import escaped, shortened
from nccltool.doctor import report
from nccltool.doctor.judge import FindingOnHosts, Judgement
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.nccl import settings
from nccltool.hosts.nccl.settings import NcclSettings

_MOST_TRIALS = 64
"""Each judges all hosts again; what is left then needs a decision."""
_LONGEST = 2000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentEdit:
    """A variable of the environment that gets a value; None = it is unset."""

    name: str
    value: str | None

    @property
    def line(self) -> str:
        """For a shell."""
        return f"unset {self.name}" if self.value is None else f"export {self.name}={shlex.quote(self.value)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEdit:
    """A line of a configuration file that gets a text; None = it is removed. Without a number, it is added."""

    path: str
    number: int | None
    text: str | None

    @property
    def line(self) -> str:
        """For people, as a comment of a shell."""
        if self.number is None:
            return f"# {escaped(self.path)}: add {escaped(self.text or '')}"
        what = "remove this line" if self.text is None else f"set {escaped(self.text)}"
        return f"# {escaped(self.path)}:{self.number}: {what}"


Edit: TypeAlias = EnvironmentEdit | FileEdit


@dataclass(frozen=True, kw_only=True, slots=True)
class FixPlan:
    """What can be fixed without harm, in this order, and what needs a decision."""

    fixed: tuple[tuple[FindingOnHosts, tuple[Edit, ...]], ...] = ()
    undecided: tuple[FindingOnHosts, ...] = ()

    def lines(self) -> Iterator[str]:
        """For a shell; what is not for it is a comment."""
        for problem, edits in self.fixed:
            yield _heading(problem)
            yield from (edit.line for edit in edits)
        for problem in self.undecided:
            yield _heading(problem)
            yield f"# needs a decision: {_shown(problem.found.remedy)}"


def _heading(problem: FindingOnHosts) -> str:
    return f"# {problem.rule.code} {problem.rule.name}: {_shown(problem.found.message)}"


def _shown(text: str) -> str:
    return escaped(shortened(text, _LONGEST))


def plan(
    hosts: Sequence[JudgedHost],
    problems: Sequence[FindingOnHosts],
    judged: Callable[[Sequence[JudgedHost]], Judgement],
) -> FixPlan:
    """Try the fixes of errors and warnings, the worst first; a hint is never fixed.

    `judged`: what all rules say of the hosts, also those that found none of the problems.
    """
    codes = {problem.rule.code for problem in problems}
    hosts, waiting, before = list(hosts), _grave(problems, codes), _tally(judged(hosts).problems)
    fixed: list[tuple[FindingOnHosts, tuple[Edit, ...]]] = []
    trials = 0
    while True:
        for problem in waiting:
            edits = tuple(_edits(problem, hosts))
            if not edits or trials >= _MOST_TRIALS:
                continue
            trials += 1
            tried = [_edited(host, edits) if _concerns(problem, host) else host for host in hosts]
            judgement = judged(tried)
            if _heals(before, _tally(judgement.problems), _key(problem)):
                hosts, before = tried, _tally(judgement.problems)
                fixed.append((problem, edits))
                waiting = _grave(judgement.problems, codes)
                break
        else:
            return FixPlan(fixed=tuple(fixed), undecided=tuple(waiting))


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


def _heals(before: dict[_Key, tuple[int, int]], after: dict[_Key, tuple[int, int]], key: _Key) -> bool:
    """Whether a finding is gone, none came, and none became worse."""
    none = (0, len(SEVERITIES))
    new = (one for one, (count, bad) in after.items() if count > before.get(one, none)[0] or bad < before[one][1])
    return after.get(key, none)[0] < before.get(key, none)[0] and not any(new)


def _concerns(problem: FindingOnHosts, host: JudgedHost) -> bool:
    return not problem.hosts or host.name in problem.hosts


def _edits(problem: FindingOnHosts, hosts: Sequence[JudgedHost]) -> Iterator[Edit]:
    """Where what a fix is about is set: in a line of a file, or in the environment. None if it cannot be said."""
    concerned = next((host for host in hosts if _concerns(problem, host) and not host.settings.unread), None)
    if concerned is None:
        return
    edits = [_edit(fix, problem, concerned.settings) for fix in problem.found.fix]
    if all(edit is not None and _is_plain(edit) for edit in edits):
        yield from (edit for edit in edits if edit is not None)


def _edit(fix: report.Fix | report.LineFix, problem: FindingOnHosts, effective: NcclSettings) -> Edit | None:
    if isinstance(fix, report.LineFix):
        return FileEdit(path=fix.path, number=fix.number, text=fix.text)
    line = None if fix.value is None else f"{fix.name}={fix.value}"
    used = {one.name: (file.path, one.number) for file, one in effective.lines() if one.fate == "used"}
    if fix.name in used:
        path, number = used[fix.name]
        return FileEdit(path=path, number=number, text=line)
    subject = problem.found.subject
    if fix.name not in effective.variables and subject.kind == "variable" and subject.name in used:
        return FileEdit(path=used[subject.name][0], number=None, text=line) if line else None
    return EnvironmentEdit(name=fix.name, value=fix.value) if _NAME.fullmatch(fix.name) else None


def _is_plain(edit: Edit) -> bool:
    text = edit.value if isinstance(edit, EnvironmentEdit) else edit.text
    return text is None or text.isprintable()


def _edited(host: JudgedHost, edits: Sequence[Edit]) -> JudgedHost:
    """The host behind these edits. A line that is removed stays as an empty one: the others keep their numbers."""
    env, files = dict(host.facts.env), list(host.facts.conf_files)
    for edit in edits:
        if isinstance(edit, FileEdit):
            files = [
                msgspec.structs.replace(file, text=_with_line(file.text, edit))
                if file.path == edit.path and isinstance(file.text, str)
                else file
                for file in files
            ]
        elif edit.value is None:
            env.pop(edit.name, None)
        else:
            env[edit.name] = edit.value
    facts = msgspec.structs.replace(host.facts, env=env, conf_files=tuple(files))
    return replace(host, facts=facts, settings=settings.of(facts, host.settings.version))


def _with_line(text: str, edit: FileEdit) -> str:
    if edit.number is None:
        return f"{text.removesuffix(chr(10))}\n{edit.text}\n"
    lines = text.split("\n")
    if edit.number <= len(lines):
        lines[edit.number - 1] = edit.text or ""
    return "\n".join(lines)
