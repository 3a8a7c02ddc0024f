"""What triage found, for people: the cause, the offender, the lines that prove it, what to do; or the overview."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.core.look import PLAIN, Look
from nccltool.core.text import escaped, shortened
from nccltool.triage.incident import Incident, LogLine, Overview, incident_to_json

_WIDTH = 100
_LONGEST_LINE = 240
_LONGEST_CELL = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class TriageView:
    """How and where it is shown: the options of `nccltool triage`."""

    form: str
    summary: bool
    output: str | None
    look: Look = PLAIN


def shown(incident: Incident, view: TriageView) -> str:
    """The incident in the form that is asked for."""
    if view.form == "json":
        return incident_to_json(incident) + "\n"
    return summary(incident.overview, view.look) if view.summary else render(incident, view.look)


def render(incident: Incident, look: Look = PLAIN) -> str:
    lines = [*_answer(incident), *_lines(incident), *_others(incident)]
    if incident.verdict.status == "fail":
        lines += ["", *_what_to_do(incident)]
    return "\n".join([*lines, "", _last_line(incident)]) + "\n"


def _answer(incident: Incident) -> Iterator[str]:
    yield f"root cause  {incident.root_cause}    confidence {incident.confidence:.2f}"
    if incident.offender:
        yield f"offender    {incident.offender.kind} {escaped(incident.offender.name)}"
    why = incident.candidates[0].why[:4] if incident.candidates else ()
    for number, reason in enumerate(why):
        yield f"{'because' if not number else '':10}  {escaped(reason)}"


def _lines(incident: Incident) -> Iterator[str]:
    if incident.first_failure:
        yield ""
        yield "first failure"
        yield from _line(incident.first_failure)
    rest = [line for line in incident.evidence if line != incident.first_failure]
    if rest and incident.root_cause != "none":
        yield "evidence"
        for line in rest:
            yield from _line(line)


def _line(line: LogLine) -> Iterator[str]:
    about = [f"{escaped(line.file)}:{line.line}"]
    about += [f"rank {line.rank}"] if line.rank is not None else []
    about += [f"host {escaped(line.host)}"] if line.host else []
    about += [line.time] if line.time else []
    yield f"    {', '.join(about)}"
    yield f"        {escaped(shortened(line.text, _LONGEST_LINE))}"


def _others(incident: Incident) -> Iterator[str]:
    others = incident.candidates[1:4]
    if others:
        yield ""
        yield "it could also be"
        width = max(len(one.root_cause) for one in others)
        for one in others:
            yield f"    {one.root_cause:{width}}  {one.confidence:.2f}  {escaped(', '.join(one.why[:2]))}"
    if incident.root_cause != "none":
        yield from _wrapped("what would settle it: " + incident.decides)


def _what_to_do(incident: Incident) -> Iterator[str]:
    for finding in incident.findings:
        yield from _wrapped("what to do: " + finding.remedy)
    yield f"the page: nccltool explain {incident.root_cause}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(escaped(text), _WIDTH, subsequent_indent="    ", break_long_words=False)


def _last_line(incident: Incident) -> str:
    count = incident.lines_read
    said = f"{incident.verdict.status}: {count} line{'' if count == 1 else 's'} read"
    return f"{said}, exit code {incident.verdict.exit_code}"


def summary(overview: Overview, look: Look = PLAIN) -> str:
    """The overview of the run: tables, then what differs between hosts."""
    blocks = []
    for table in overview.tables:
        rows = [[escaped(shortened(cell, _LONGEST_CELL)) for cell in row] for row in table.rows]
        blocks.append(look.table(table.headers, rows) + "\n")
    if not blocks:
        return "no line of NCCL was found: set NCCL_DEBUG=INFO\n"
    differ = ["hosts differ", *(f"    {escaped(text)}" for text in overview.differences)]
    said = differ if overview.differences else ["no difference between hosts was found"]
    return "\n".join([*blocks, "\n".join(said) + "\n"])
