"""A row an outcome of a check, units in a column; what a spreadsheet or a data frame reads."""

import csv
import io

from nccltool.core.text import escaped
from nccltool.preflight.result import CheckOutcome, Preflight

_COLUMNS = ("run", "stage", "code", "host", "status", "measured", "unit", "expected", "source", "reason")


def render(preflight: Preflight) -> str:
    """Comma-separated values; an empty field is not known, and in `host` it means all hosts together."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_row(preflight.info.id, one) for one in preflight.outcomes)
    return text.getvalue()


def _row(run: str, one: CheckOutcome) -> list[object]:
    texts = (run, one.stage, one.code, one.host or "", one.status)
    rest = (one.unit, one.expected, one.source, one.reason)
    return [*map(escaped, texts), one.measured, *map(escaped, rest)]
