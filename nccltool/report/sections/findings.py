"""What was found, the worst first, with its evidence and its remedy."""

from nccltool.core.findings import Finding
from nccltool.core.text import counted, named, shortened
from nccltool.report.material import Material
from nccltool.report.parts import FoldPart, KeyFigure, NotePart, Part, ReportSection
from nccltool.report.sections import base

_MOST = 30
"""Notes that are read; the others are folded."""


def of(material: Material) -> ReportSection | None:
    found = list(base.ordered(base.findings_of(material.newest)))
    bad = [one for one in found if one.severity != "info"]
    notes = [one for one in found if one.severity == "info"]
    if not found:
        return None
    parts: list[Part] = [
        *(_note(one) for one in bad[:_MOST]),
        *_folded(f"{counted(len(bad) - _MOST, 'more finding')}", bad[_MOST:]),
        *_folded(counted(len(notes), "note"), notes),
    ]
    return ReportSection(
        id="findings",
        title="Findings",
        headline=_headline(bad, notes),
        figure=KeyFigure(value=str(len(bad)), label="finding" if len(bad) == 1 else "findings"),
        parts=tuple(parts),
    )


def _headline(bad: list[Finding], notes: list[Finding]) -> str:
    if not bad:
        return f"No problem was found; {counted(len(notes), 'note')}."
    codes = named(dict.fromkeys(one.code for one in bad), 4)
    errors = sum(one.is_error for one in bad)
    counts = ((errors, "error"), (len(bad) - errors, "warning"))
    return f"{' and '.join(counted(count, word) for count, word in counts if count)}: {codes}."


def _folded(summary: str, found: list[Finding]) -> list[FoldPart]:
    return [FoldPart(summary=summary, parts=tuple(_note(one) for one in found))] if found else []


def _note(one: Finding) -> NotePart:
    return NotePart(
        text=shortened(f"{one.severity.upper()} {one.code}: {one.message}", base.LONGEST),
        lines=tuple(shortened(line, base.LONGEST) for text in one.evidence for line in text.splitlines()),
        tone=base.TONES[one.severity],
        remedy=one.remedy,
        link="" if one.severity == "info" else base.page_id(one.code),
    )
