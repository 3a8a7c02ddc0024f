"""The list of past runs, in every format."""

import csv
import io
from collections.abc import Sequence
from dataclasses import fields

import msgspec
from tabulate import tabulate

from nccltool.core.run_directory import Entry

SCHEMA = 1


FORMATS = ("table", "json", "csv")
"""The other formats show the measurements of one run."""


def render(entries: Sequence[Entry], form: str) -> str:
    """Text, with a newline at its end."""
    return {"table": _table, "json": _json, "csv": _csv}[form](entries)


def _table(entries: Sequence[Entry]) -> str:
    if not entries:
        return "no runs yet\n"
    headers = ("run", "started", "status", "rows", "command")
    rows = [
        (
            e.id,
            e.started or "?",
            e.status,
            "?" if e.measurements is None else e.measurements,
            " ".join(e.command),
        )
        for e in entries
    ]
    return str(tabulate(rows, headers, tablefmt="simple", disable_numparse=True)) + "\n"


def _json(entries: Sequence[Entry]) -> str:
    document = {"schema": SCHEMA, "kind": "runs", "runs": entries}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _csv(entries: Sequence[Entry]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Entry)]
    writer.writerow(names)
    writer.writerows(
        [" ".join(value) if isinstance(value := getattr(entry, name), tuple) else value for name in names]
        for entry in entries
    )
    return text.getvalue()
