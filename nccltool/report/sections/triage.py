"""What the logs of a failed run show: the root cause, how sure that is, and the lines that say so."""

from pathlib import Path

from nccltool.core.text import named
from nccltool.report import charts
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, KeyFigure, NotePart, ReportSection, TablePart
from nccltool.report.sections import base
from nccltool.triage import failed_run, own_run
from nccltool.triage.incident import Candidate, Incident, LogLine

_MOST = 6
_HEADERS = ("root cause", "confidence", "why")


def of(material: Material) -> ReportSection | None:
    found = material.incident
    if found is None:
        return None
    who = f": {found.offender.kind} {found.offender.name}" if found.offender else ""
    is_guess = found.confidence < failed_run.CONFIDENCE
    first = NotePart(
        text=f"To settle it: {found.decides}" if found.decides else "Nothing else would settle it.",
        remedy="" if is_guess or not found.findings else found.findings[0].remedy,
    )
    own = [one for one in found.evidence if own_run.is_record(Path(one.file))]
    speaks = "The run's findings and its logs" if own else "The logs"
    says = f"{speaks} {'fit' if is_guess else 'show'} {found.root_cause}{who}"
    return ReportSection(
        id="triage",
        title="Root cause in the logs",
        headline=f"{says}, with a confidence of {found.confidence:.2f}{': a guess' if is_guess else ''}.",
        figure=KeyFigure(value=f"{found.confidence:.2f}", label="confidence"),
        parts=(first, _chart(found), _lines(found.evidence, material.runs[-1].folder)),
    )


def _chart(found: Incident) -> ChartPart:
    shown = found.candidates[:_MOST]
    values = tuple(
        {
            "name": one.root_cause,
            "x": 100 * one.confidence,
            "tone": base.TONE_COLORS["plain"],
            "about": f"{one.root_cause}: {one.confidence:.2f}, {named(one.why, 2)}",
        }
        for one in shown
    )
    return ChartPart(
        title="Possible root causes",
        about="how likely each root cause is; the table has the reasons",
        spec=charts.bars("confidence (%)", len(shown)),
        values=values,
        table=_table(found.candidates),
        spark=tuple(one.confidence for one in shown),
    )


def _table(candidates: tuple[Candidate, ...]) -> TablePart:
    rows = [(one.root_cause, f"{one.confidence:.2f}", "; ".join(one.why)) for one in candidates]
    return base.table("Possible root causes", _HEADERS, rows, 1)


def _lines(evidence: tuple[LogLine, ...], folder: Path | None) -> TablePart:
    """Files are named from the folder of the run on: where that was is of no use elsewhere."""
    rows = [
        (
            f"{one.file.removeprefix(f'{folder}/')}:{one.line}",
            one.time or base.UNKNOWN,
            one.host or base.UNKNOWN,
            base.UNKNOWN if one.rank is None else str(one.rank),
            one.text,
        )
        for one in evidence
    ]
    return base.table("Evidence", ("line", "time", "host", "rank", "text"), rows)
