"""The result of triage for people: the verdict, the lines that prove it, the remedy; or the overview."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nccltool.core import ctrf
from nccltool.core import junit as core_junit
from nccltool.core.look import PLAIN, Look
from nccltool.core.notices import BELOW, INDENT, verdict_line
from nccltool.core.plugin_line import plugin_line
from nccltool.core.text import counted, escaped, shortened
from nccltool.core.verdicts import Status
from nccltool.triage import junit, sarif
from nccltool.triage.incident import Incident, LogLine, Overview, TriageReport, early_ends, report_to_json

_LONGEST_LINE = 240
_LONGEST_CELL = 60
_WORDS: Mapping[Status, str] = {
    "fail": "failed",
    "incomplete": "incomplete",
    "unknown": "unknown",
    "pass": "without a failure",
}
_LINES_OF_A_JOB = 12
_LEAST = 0.3
"""A candidate below this confidence is not worth a line."""
_SURE = 0.8
"""From here on nothing more is needed to settle it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriageView:
    """How and where it is shown: the options of `nccltool triage`."""

    form: str
    summary: bool
    output: str | None
    look: Look = PLAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class _Amount:
    """How much of an incident is shown."""

    reasons: int
    evidence: int
    others: int
    line: int
    """Characters of a line of a log."""


_ALL = _Amount(reasons=4, evidence=1000, others=3, line=_LONGEST_LINE)
_ON_A_SCREEN = (
    _Amount(reasons=3, evidence=3, others=2, line=140),
    _Amount(reasons=2, evidence=2, others=2, line=140),
    _Amount(reasons=1, evidence=1, others=1, line=70),
    _Amount(reasons=1, evidence=0, others=0, line=70),
)
"""The first that fits, else the last."""


def shown(report: TriageReport, view: TriageView) -> str:
    """The report in the form that is asked for."""
    if view.form == "json":
        return report_to_json(report) + "\n"
    if view.form == "sarif":
        return sarif.render(report)
    if view.form == "nagios":
        worst = report.jobs[0]
        figures = [f"jobs={len(report.jobs)}", f"lines={report.lines_read}"]
        return plugin_line(report.verdict, headline(worst.incident, _names(report)[0]), figures)
    if view.form in ("junit", "ctrf"):
        suites = junit.suites(_told(report))
        made = ctrf.report if view.form == "ctrf" else core_junit.report
        return made("triage", suites)
    texts = [
        _heading(name, view) + summary(job.incident.overview, view.look)
        if view.summary
        else render(job.incident, _share(view.look, len(report.jobs)), name)
        for job, name in zip(report.jobs, _names(report), strict=True)
    ]
    return "\n".join([*_of_all(report, view), *texts])


def _told(report: TriageReport) -> list[tuple[Incident, str, str]]:
    return [
        (job.incident, headline(job.incident, name), render(job.incident, name=name))
        for job, name in zip(report.jobs, _names(report), strict=True)
    ]


def _names(report: TriageReport) -> list[str]:
    """What the jobs are called; the only one needs no name."""
    return [job.name for job in report.jobs] if len(report.jobs) > 1 else [""]


def _of_all(report: TriageReport, view: TriageView) -> Iterator[str]:
    """The line over several jobs."""
    if len(report.jobs) > 1 and not view.summary:
        counts = Counter(job.incident.verdict.status for job in report.jobs)
        told = ", ".join(f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status])
        read = counted(report.lines_read, "line")
        line = f"triage: {len(report.jobs)} jobs: {told}; {read} read"
        yield "\n".join(verdict_line(view.look, report.verdict.status, line)) + "\n"


def _heading(name: str, view: TriageView) -> str:
    return view.look.painted(escaped(name), "strong") + "\n" if name else ""


def _share(look: Look, jobs: int) -> Look:
    """Of several jobs no screen holds all; each has the least that names its cause."""
    return replace(look, height=_LINES_OF_A_JOB) if jobs > 1 and look.height is not None else look


def render(incident: Incident, look: Look = PLAIN, name: str = "") -> str:
    """`name`: of the job, where there are others."""
    if look.height is None or look.verbose:
        return _text(incident, look, _ALL, name)
    texts = (_text(incident, look, amount, name) for amount in _ON_A_SCREEN)
    return next((text for text in texts if text.count("\n") + BELOW <= look.height), None) or _text(
        incident, look, _ON_A_SCREEN[-1], name
    )


def _text(incident: Incident, look: Look, amount: _Amount, name: str) -> str:
    why = incident.candidates[0].why[: amount.reasons] if incident.candidates else ()
    if (cut := early_ends(incident.ends_early)) and cut not in why:
        why = (*why, cut)
    others = "; the other files were read" if incident.lines_read else ""
    why = (*why, *(f"{missing}{others}" for missing in incident.unread))
    head = [
        *verdict_line(look, incident.verdict.status, headline(incident, name)),
        *(line for reason in why for line in look.wrapped(INDENT + escaped(reason), 2 * INDENT)),
    ]
    blocks = (head, list(_lines(incident, look, amount)), list(_what_to_do(incident, look)))
    return (
        "\n\n".join("\n".join(block) for block in (*blocks, list(_others(incident, look, amount))) if block) + "\n"
    )


def headline(incident: Incident, name: str = "") -> str:
    """`name`: of the job, where there are others."""
    return f"{escaped(name) or 'triage'}: {_found(incident)}"


def _found(incident: Incident) -> str:
    read = f"{counted(incident.lines_read, 'line')} read"
    match incident.verdict.status:
        case "pass":
            return f"no failure found, {read}"
        case "unknown" if incident.settled_by == "words":
            return f"probably no failure (confidence {incident.confidence:.2f}), {read}"
        case "unknown" if incident.ends_early and incident.lines_read:
            return f"no failure found before an early end, {read}"
        case "unknown" if incident.unread and incident.lines_read:
            return f"no failure found in what could be read, {read}"
        case "unknown":
            return f"nothing in the logs to check, {read}"
    if incident.root_cause == "other":
        suspect = f", first seen on {incident.offender.kind} {incident.offender.name}" if incident.offender else ""
        unknown = f"other (confidence {incident.confidence:.2f}), the cause is not known"
        return f"{unknown}{suspect}; {read}"
    return f"{incident.root_cause} (confidence {incident.confidence:.2f}){_suspected(incident)}; {read}"


def _suspected(incident: Incident) -> str:
    """Whom to look at first, and who else the same is said of."""
    if incident.offender is None:
        return ""
    kind, names = incident.offender.kind, [one.name for one in incident.suspects] or [incident.offender.name]
    return f", suspect{'s' if len(names) > 1 else ''} {kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _lines(incident: Incident, look: Look, amount: _Amount) -> Iterator[str]:
    """The first failure, and the other lines that speak for the root cause."""
    if incident.first_failure:
        yield "first failure"
        yield from _line(incident.first_failure, look, amount)
    rest = [line for line in incident.evidence if line != incident.first_failure]
    told = rest[: amount.evidence]
    if told and incident.root_cause != "none":
        yield f"evidence, {len(told)} of {len(rest)} lines" if len(told) < len(rest) else "evidence"
        for line in told:
            yield from _line(line, look, amount)


def _line(line: LogLine, look: Look, amount: _Amount) -> Iterator[str]:
    about = [f"{line.file}:{line.line}"]
    about += [f"rank {line.rank}"] if line.rank is not None else []
    about += [f"host {line.host}"] if line.host else []
    about += [line.time] if line.time else []
    yield from (look.painted(part, "dim") for part in look.wrapped(INDENT + escaped(", ".join(about)), 2 * INDENT))
    # without a count: of a long line, an event keeps the beginning only
    text = line.text if len(line.text) <= amount.line else f"{line.text[: amount.line]}..."
    yield from look.wrapped(2 * INDENT + escaped(text), 2 * INDENT)


def _what_to_do(incident: Incident, look: Look) -> Iterator[str]:
    if incident.verdict.status != "fail":
        return
    for finding in incident.findings:
        yield from look.wrapped(f"-> {escaped(finding.remedy)}", INDENT)
    yield look.painted(f"nccltool explain {incident.root_cause}", "dim")


def _others(incident: Incident, look: Look, amount: _Amount) -> Iterator[str]:
    if amount is not _ALL and incident.confidence >= _SURE:
        return
    rivals = [one for one in incident.candidates[1:] if one.confidence >= _LEAST]
    if others := rivals[: amount.others]:
        yield "other candidates"
        told = [(one.root_cause, one.confidence, ", ".join(one.why[:2])) for one in others]
        told.append(("unknown", incident.unknown, "the cause is none of these"))
        width = max(len(name) for name, *_ in told)
        for name, share, why in told:
            yield from look.wrapped(f"{INDENT}{name:{width}}  {share:.2f}  {escaped(why)}", 2 * INDENT)
    if incident.root_cause != "none":
        yield from look.wrapped(f"to confirm the cause, check: {escaped(incident.decides)}", INDENT)


def summary(overview: Overview, look: Look = PLAIN) -> str:
    """The overview of the run: tables, then what differs between hosts."""
    blocks = []
    for table in overview.tables:
        rows = [[escaped(shortened(cell, _LONGEST_CELL)) for cell in row] for row in table.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(table.headers))]
        blocks.append(look.table(table.headers, rows, flexible=widths.index(max(widths))) + "\n")
    if not blocks:
        return "no NCCL lines found; set NCCL_DEBUG=INFO\n"
    differ = [
        "hosts differ",
        *(line for text in overview.differences for line in look.wrapped(INDENT + escaped(text), 2 * INDENT)),
    ]
    said = differ if overview.differences else ["no differences between hosts"]
    return "\n".join([*blocks, "\n".join(said) + "\n"])
