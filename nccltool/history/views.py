"""What the history says: table, JSON, CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TypeVar

from nccltool.core import documents
from nccltool.core.look import PLAIN, Align, Look, Tone
from nccltool.core.text import counted, escaped
from nccltool.history.keeping import ImportedRuns
from nccltool.history.records import VisitStatus
from nccltool.history.result import Drift, HistoryAnswer, HostRecord, RepeatOffence
from nccltool.history.wording import changed, day, drifted, line_name, repeated, series_name, value

One = TypeVar("One")
FORMATS = ("table", "json", "csv")
CSV_COLUMNS = (
    *("record", "host", "name", "detail", "unit", "runs", "failed", "alone", "proven", "status", "first", "last"),
    *("at", "earliest", "latest", "before", "after", "ratio", "ratio_low", "ratio_high", "since", "reason"),
)
"""A row is a host, an offence, a drift, or a value."""
_MARKS: dict[VisitStatus, str] = {"pass": ".", "warn": "w", "fail": "F", "missing": "M"}
_LEGEND = "recent: the latest runs, oldest first; . pass, w warn, F fail, M missing, ? not known"
_TONES: dict[str, Tone] = {"fail": "fail", "missing": "fail", "warn": "warn", "pass": "pass"}
_MOST = 24
"""Rows of a table without -v."""
_HOSTS: tuple[Align, ...] = ("left", "right", "right", "left", "left", "left")
_TRENDS: tuple[Align, ...] = ("left", "right", "right", "left")
_INDENT = "    "


def render(answer: HistoryAnswer, form: str, look: Look = PLAIN) -> str:
    if form == "json":
        names = [field.name for field in fields(answer)]
        return documents.headed("history", **{name: getattr(answer, name) for name in names})
    return _csv(answer) if form == "csv" else "\n".join(_table(answer, look)) + "\n"


def _table(answer: HistoryAnswer, look: Look) -> Iterator[str]:
    yield from look.wrapped(escaped(_headline(answer)), _INDENT)
    told = [one for one in answer.hosts if _is_told(one, answer, look)]
    if told:
        yield ""
        rows = [_host(one, look) for one in (told if look.verbose else told[:_MOST])]
        yield from look.table(("host", "runs", "failed", "now", "recent", "last run"), rows, _HOSTS).split("\n")
        if len(rows) < len(told):
            yield f"and {len(told) - len(rows)} more; -v shows all"
        yield from look.wrapped(look.painted(_LEGEND, "dim"), _INDENT)
    for one in _some(answer.offences, look):
        yield ""
        yield from _offence(one, look)
    for drift in _some(answer.drifts, look):
        yield ""
        yield from _drift(drift, look)
    hidden = sum(max(len(some) - _MOST, 0) for some in (answer.offences, answer.drifts))
    if hidden and not look.verbose:
        yield f"and {hidden} more; -v shows all"
    if answer.trends:
        yield ""
        yield from _trends(answer, look)


def _some(every: Sequence[One], look: Look) -> Sequence[One]:
    return every if look.verbose else every[:_MOST]


def _headline(answer: HistoryAnswer) -> str:
    """What was asked, over which runs, and what is worth a look."""
    what = f"{answer.question} {answer.word}" if answer.word else counted(len(answer.hosts), "host")
    if not answer.runs:
        return f"{what}: no run since {day(answer.since)} in {answer.file}"
    flapping = sum(one.is_flapping for one in answer.hosts)
    parts = [
        counted(sum(one.times > 1 for one in answer.offences), "repeated failure"),
        f"{flapping} flapping",
        f"{counted(len(answer.drifts), 'changed level')} in {answer.series} series",
    ]
    runs = f"{counted(answer.runs, 'run')}, {day(answer.first)} to {day(answer.last)}"
    return f"{what}, {runs}: {', '.join(parts)}"


def _is_told(one: HostRecord, answer: HistoryAnswer, look: Look) -> bool:
    return look.verbose or bool(answer.word) or one.failed > 0 or one.is_flapping


def _host(one: HostRecord, look: Look) -> tuple[str, ...]:
    marks = "".join(_MARKS.get(status, "?") for status in one.recent)
    return (
        escaped(one.host),
        str(one.runs),
        str(one.failed),
        look.painted(one.status, _TONES.get(one.status, "dim")),
        f"{marks} flapping" if one.is_flapping else marks,
        day(one.last),
    )


def _offence(one: RepeatOffence, look: Look) -> Iterator[str]:
    text = f"{one.host or 'all hosts'}: {one.check} {repeated(one)}"
    yield from look.wrapped(look.painted(escaped(text), "fail" if one.is_current else "dim"), _INDENT)
    if one.reason:
        yield from look.wrapped(f"{_INDENT}{escaped(one.reason)}", _INDENT)


def _drift(one: Drift, look: Look) -> Iterator[str]:
    text = f"{line_name(one.host, one.series)} is {drifted(one)}"
    yield from look.wrapped(look.painted(escaped(text), "fail" if one.is_worse else "pass"), _INDENT)
    if one.since:
        yield from look.wrapped(f"{_INDENT}changed in that time: {escaped(changed(one.since))}", _INDENT)


def _trends(answer: HistoryAnswer, look: Look) -> Iterator[str]:
    rows = [
        (
            escaped(series_name(one.series) if one.host == answer.word else line_name(one.host, one.series)),
            str(len(one.points)),
            value(one.points[-1].value, one.series),
            look.sparkline([point.value for point in one.points]),
        )
        for one in _some(answer.trends, look)
    ]
    yield from look.table(("measured", "runs", "latest", "trend"), rows, _TRENDS).split("\n")
    if len(rows) < len(answer.trends):
        yield f"and {len(answer.trends) - len(rows)} more; -v shows all"


def _csv(answer: HistoryAnswer) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(
        {key: escaped(one) if isinstance(one, str) else one for key, one in row.items()} for row in _rows(answer)
    )
    return text.getvalue()


def _rows(answer: HistoryAnswer) -> Iterator[dict[str, object]]:
    for host in answer.hosts:
        yield {"record": "host", **_of(host, _OF_HOST)}
    for one in answer.offences:
        more = {"name": one.check, "failed": one.times, "since": changed(one.since)}
        yield {"record": "offence", **more, **_of(one, _OF_OFFENCE)}
    for drift in answer.drifts:
        kept = {"runs": drift.values, "since": changed(drift.since), **_of(drift.series, _OF_SERIES)}
        yield {"record": "drift", **kept, **_of(drift, _OF_DRIFT)}
    for trend in answer.trends:
        for point in trend.points:
            at = {"host": trend.host, "at": point.at, "after": point.value}
            yield {"record": "value", **_of(trend.series, _OF_SERIES), **at}


_OF_HOST = ("host", "runs", "failed", "status", "first", "last")
_OF_OFFENCE = ("host", "runs", "alone", "proven", "first", "last", "reason")
_OF_DRIFT = ("host", "at", "earliest", "latest", "before", "after", "ratio", "ratio_low", "ratio_high")
_OF_SERIES = ("name", "detail", "unit")


def _of(one: object, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(one, name) for name in names}


def imported(done: ImportedRuns, form: str) -> str:
    """What came of an import."""
    if form == "json":
        skipped = [{"folder": folder, "reason": why} for folder, why in done.skipped]
        return documents.headed(
            "imported-history", file=done.file, added=done.added, known=done.known, skipped=skipped
        )
    return escaped(f"{counted(done.added, 'run')} added to {done.file}; {done.known} known before") + "\n"


def pruned(file: str, removed: int, dry_run: bool, form: str) -> str:
    """What came of a pruning."""
    if form == "json":
        return documents.headed("pruned-history", file=file, removed=removed, dry_run=dry_run)
    word = "would be removed" if dry_run else "removed"
    return escaped(f"{counted(removed, 'run')} {word} from {file}") + "\n"
