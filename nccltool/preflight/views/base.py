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


def evidence(one: CheckOutcome) -> Iterator[str]:
    """Number and expectation, and what else speaks for it."""
    if one.expected:
        yield f"measured {number(one)}, expected {one.expected}" if number(one) else f"expected {one.expected}"
    for finding in one.findings:
        for text in finding.evidence[:_MOST_EVIDENCE]:
            yield from text.split("\n")


def more(one: CheckOutcome) -> Iterator[str]:
    """Where the expectation is from, how to look again, and what was kept."""
    source = one.source if one.expected else ""
    for name, value in (("source", source), ("again", one.repeat), ("evidence", one.evidence)):
        if value:
            yield f"{name}: {value}"


def remedies(one: CheckOutcome) -> list[str]:
    """What to do, each once."""
    said = (*(finding.remedy for finding in one.findings), one.remedy)
    return [*dict.fromkeys(remedy for remedy in said if remedy)]


def explained(one: CheckOutcome) -> str:
    """What `nccltool explain` knows it by: what was found, else the check itself."""
    return one.findings[0].code if one.findings else one.code


def lines(one: CheckOutcome) -> Iterator[str]:
    """All that speaks for it, of formats that programs read."""
    if one.expected:
        got = f"measured {number(one)}, " if one.measured is not None else ""
        yield f"{got}expected {escaped(one.expected)}{f' ({escaped(one.source)})' if one.source else ''}"
    for finding in one.findings:
        for text in finding.evidence[:_MOST_EVIDENCE]:
            yield from escaped_lines(text)
        if finding.remedy:
            yield f"-> {escaped(finding.remedy)}"
    if one.before:
        yield f"history: {escaped(one.before)}"
    if one.remedy:
        yield f"-> {escaped(one.remedy)}"
    if one.repeat:
        yield f"again: {escaped(one.repeat)}"
    if one.page:
        yield f"nccltool explain {escaped(explained(one))}"
    if one.evidence:
        yield f"evidence: {escaped(one.evidence)}"
