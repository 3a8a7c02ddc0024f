"""What repeated and what changed over the runs: hosts that failed again and again, and levels, since when."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from nccltool.core.text import counted, named
from nccltool.history import wording
from nccltool.history.records import VisitStatus
from nccltool.history.result import Drift, HistoryAnswer, HostRecord, RepeatOffence
from nccltool.report.material import Material
from nccltool.report.parts import FoldPart, KeyFigure, NotePart, ReportSection, TablePart
from nccltool.report.sections import base

_MOST = 4
"""Notes of a kind that are read; the others are folded."""
_MARKS: dict[VisitStatus, str] = {"pass": ".", "warn": "w", "fail": "F", "missing": "M"}
_OTHER = "?"


def of(material: Material) -> ReportSection | None:
    found = material.history
    if found is None:
        return None
    changes = [_drift(one) for one in found.drifts]
    return ReportSection(
        id="history",
        title="What repeated, what changed",
        headline=_headline(found),
        figure=KeyFigure(value=str(found.runs), label="runs"),
        parts=(
            *changes[:_MOST],
            *_folded(changes[_MOST:], "more changed level"),
            *(notes := [_offence(one) for one in found.offences])[:_MOST],
            *_folded(notes[_MOST:], "more repeated failure"),
            *((_hosts(found.hosts),) if found.hosts else ()),
        ),
    )


def worse(found: HistoryAnswer) -> str:
    """The clearest change for the worse among those that still last, in a sentence; empty = there is none."""
    latest = {(one.host, one.series): one for one in reversed(found.drifts)}
    drifts = sorted((one for one in latest.values() if one.is_worse), key=lambda one: (one.chance, one.ratio))
    return f"{_of(drifts[0])} {wording.shift(drifts[0])}" if drifts else ""


def todo(found: HistoryAnswer) -> Iterator[tuple[str, str]]:
    """What lasts, with what to do about it."""
    if changed := worse(found):
        yield changed, "see what changed at that time; nccltool pairs finds the node or link that is slow"
    for one in found.offences:
        if one.host and one.is_current:
            yield f"{one.host}: {one.check} {wording.repeated(one)}", f"nccltool history {shlex.quote(one.host)}"


def _headline(found: HistoryAnswer) -> str:
    hosts = list(dict.fromkeys(one.host for one in found.offences if one.host))
    again = f"failed again and again: {named(hosts, 3)}" if hosts else "no host failed again and again"
    flapping = [one.host for one in found.hosts if one.is_flapping]
    flaps = f"; changing between good and bad: {named(flapping, 3)}" if flapping else ""
    changed = worse(found) or f"{counted(len(found.drifts), 'changed level')} in {found.series} series"
    return f"{changed}; {again}{flaps}."


def _of(one: Drift) -> str:
    return f"{one.host}: {one.series.name}" if one.host else one.series.name


def _drift(one: Drift) -> NotePart:
    since = (f"changed in that time: {wording.changed(one.since)}",) if one.since else ()
    return NotePart(
        text=f"{wording.line_name(one.host, one.series)}: {wording.drifted(one)}",
        lines=since,
        tone="warn" if one.is_worse else "pass",
    )


def _offence(one: RepeatOffence) -> NotePart:
    return NotePart(
        text=f"{one.host or 'all hosts'}: {one.check} {wording.repeated(one)}",
        lines=(f"latest: {one.reason}",) if one.reason else (),
        tone="fail" if one.proven else "warn",
    )


def _folded(notes: list[NotePart], what: str) -> list[FoldPart]:
    return [FoldPart(summary=counted(len(notes), what), parts=tuple(notes))] if notes else []


def _hosts(hosts: tuple[HostRecord, ...]) -> TablePart:
    rows = [(one.host, str(one.runs), str(one.failed), one.status, _recent(one)) for one in hosts]
    title = "Hosts, the worst first. Recent runs, oldest first: . pass, w warn, F fail, M missing, ? not known"
    return replace(base.table(title, ("host", "runs", "failed", "now", "recent"), rows, 1, 2), codes=(4,))


def _recent(one: HostRecord) -> str:
    return "".join(_MARKS.get(status, _OTHER) for status in one.recent)
