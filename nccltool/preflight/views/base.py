"""What formats share: the outcome of a check in words, its number, and the lines that speak for it."""

from collections.abc import Iterator

from nccltool.core.text import escaped, escaped_lines
from nccltool.core.units import format_gb_per_s, format_seconds
from nccltool.preflight.result import CheckOutcome

_MOST_EVIDENCE = 3


def number(one: CheckOutcome) -> str:
    """What was measured, with its unit; empty when nothing was."""
    if one.measured is None:
        return ""
    match one.unit:
        case "B/s":
            return f"{format_gb_per_s(one.measured)} GB/s"
        case "s":
            return format_seconds(one.measured) if one.measured else "0 s"
        case "ratio":
            return f"{one.measured:.0%}"
    return escaped(f"{one.measured:g} {one.unit}".rstrip())


def lines(one: CheckOutcome) -> Iterator[str]:
    """Number, expectation and its source, evidence, remedy, how to look again, and where more is written."""
    if one.expected:
        got = f"measured {number(one)}, " if one.measured is not None else ""
        yield f"{got}expected {escaped(one.expected)}{f' ({escaped(one.source)})' if one.source else ''}"
    for finding in one.findings:
        for text in finding.evidence[:_MOST_EVIDENCE]:
            yield from escaped_lines(text)
        if finding.remedy:
            yield f"-> {escaped(finding.remedy)}"
    if one.repeat:
        yield f"again: {escaped(one.repeat)}"
    if one.page:
        yield f"nccltool explain {escaped(one.findings[0].code if one.findings else one.code)}"
    if one.evidence:
        yield f"evidence: {escaped(one.evidence)}"
