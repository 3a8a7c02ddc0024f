"""What sections have in common: words, tables, and ids."""

import re
from collections.abc import Iterator, Sequence

from nccltool.core.findings import Finding, Severity
from nccltool.core.text import shortened
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Measurement, Run
from nccltool.report import colors
from nccltool.report.parts import TablePart, Tone

TONES: dict[Severity, Tone] = {"error": "fail", "warning": "warn", "info": "plain"}
TONE_COLORS: dict[str, str] = {
    "fail": colors.variable(colors.FAIL),
    "warn": colors.variable(colors.WARN),
    "pass": colors.variable(colors.PASS),
    "unknown": colors.variable(colors.UNKNOWN),
    "plain": colors.variable(colors.SERIES[0]),
}
UNKNOWN = "unknown"
MOST_ROWS = 500
"""Of a table: the raw data has the others."""
LONGEST = 1000
"""Letters of a cell or a line of evidence."""


def page_id(code: str) -> str:
    """The id of the manual's section about a finding."""
    return "page-" + re.sub(r"[^A-Za-z0-9-]", "-", code)


def gb_per_s(rate: float | None) -> str:
    return UNKNOWN if rate is None else f"{format_gb_per_s(rate)} GB/s"


def seconds(time_s: float | None) -> str:
    return UNKNOWN if time_s is None else format_seconds(time_s)


def percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], *numbers: int) -> TablePart:
    """As many rows as can be read."""
    shown = tuple(tuple(shortened(cell, LONGEST) for cell in row) for row in rows[:MOST_ROWS])
    return TablePart(
        title=title, headers=tuple(headers), rows=shown, numbers=numbers, more=max(len(rows) - MOST_ROWS, 0)
    )


def of_row(name: str, row: Measurement) -> str:
    """The sentence of a measurement."""
    low, high = row.busbw_interval
    interval = f", 95 % interval {format_gb_per_s(low)} to {format_gb_per_s(high)}" if high > low else ""
    return (
        f"{name} {format_bytes(row.bytes)}: busbw {gb_per_s(row.busbw_bytes_per_s)}{interval};"
        f" time {format_seconds(row.time_s.seconds)}"
    )


def ordered(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The worst first, each text once."""
    seen = set()
    for severity in ("error", "warning", "info"):
        for one in findings:
            if one.severity == severity and (one.code, one.message) not in seen:
                seen.add((one.code, one.message))
                yield one


def findings_of(run: Run | Preflight) -> tuple[Finding, ...]:
    """Those of the run itself, and of a preflight's checks."""
    of_checks = (one for outcome in run.outcomes for one in outcome.findings) if isinstance(run, Preflight) else ()
    return (*run.findings, *of_checks)
