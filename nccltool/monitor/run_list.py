"""The past runs of all commands: one of them, and the list in every format."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from nccltool.core import documents, run_directory
from nccltool.core.errors import BadInput
from nccltool.core.look import PLAIN, Look, Tone
from nccltool.core.text import escaped
from nccltool.core.verdicts import Status
from nccltool.localize import document as localize_document
from nccltool.preflight import document as preflight_document
from nccltool.preflight.result import Preflight
from nccltool.probe.result import Run
from nccltool.train import document as train_document

_WIDE = 120
"""Columns of a screen that has room for all."""
_TONES: Mapping[Status, Tone] = {
    "pass": "pass",
    "warn": "warn",
    "fail": "fail",
    "incomplete": "fail",
    "unknown": "dim",
}
FORMATS = ("table", "json", "csv")
"""The other formats show the measurements of one run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A run in the list of past runs."""

    id: str
    path: str
    started: str | None = None
    status: Status
    """incomplete when it has no document, unknown when that is damaged."""
    exit_code: int | None = None
    command: tuple[str, ...] = ()
    measurements: int | None = None
    in_progress: bool = False
    """It is still running here; its status is not known yet."""


def load(path: Path) -> Run | Preflight:
    """The run of any command in a folder, or in a run.json. Raises BadInput."""
    return decoded(*run_directory.document(path))


def decoded(text: bytes, where: str) -> Run | Preflight:
    """The run of any command in a document. Raises BadInput that names `where`."""
    kind = documents.kind_of(text, where)
    if kind == "preflight":
        return preflight_document.from_json(text, where)
    if kind in localize_document.KINDS:
        return localize_document.from_json(text, where)
    return train_document.from_json(text, where)


def entries(base: Path) -> Iterator[Entry]:
    """The runs under a folder, oldest first; a damaged one is listed, not hidden."""
    for folder in run_directory.folders(base):
        try:
            yield entry(folder, load(folder))
        except BadInput:
            yield nameless(folder, "unknown" if run_directory.has_document(folder) else "incomplete")


def entry(folder: Path, run: Run | Preflight) -> Entry:
    return Entry(
        id=run.info.id,
        path=str(folder),
        started=run.info.started,
        status=run.verdict.status,
        exit_code=run.verdict.exit_code,
        command=run.info.command,
        measurements=len(run.measurements),
    )


def nameless(folder: Path, status: Status) -> Entry:
    """A run in the list of which no more is known than its folder."""
    began = run_directory.began(folder.name)
    return Entry(
        id=folder.name,
        path=str(folder),
        started=f"{began:%Y-%m-%dT%H:%M:%SZ}" if began else None,
        status=status,
        in_progress=status == "incomplete" and run_directory.is_held(folder),
    )


def render(entries: Sequence[Entry], form: str, look: Look = PLAIN) -> str:
    return _table(entries, look) if form == "table" else {"json": _json, "csv": _csv}[form](entries)


def _table(entries: Sequence[Entry], look: Look) -> str:
    if not entries:
        return "no runs yet\n"
    headers = ["run", "started", "status", "rows", "command"]
    rows = [_row(one, look) for one in entries]
    if look.width is not None and look.width < _WIDE and not look.verbose:  # the id of a run begins with it
        for row in (headers, *rows):
            del row[1]
    return look.table(headers, rows, flexible=len(headers) - 1) + "\n"


def _row(one: Entry, look: Look) -> list[str]:
    rows = "?" if one.measurements is None else str(one.measurements)
    run, started, *rest = map(escaped, (one.id, one.started or "?", rows, " ".join(one.command)))
    status = "in progress" if one.in_progress else one.status
    return [run, started, look.painted(status, "dim" if one.in_progress else _TONES[one.status]), *rest]


def _json(entries: Sequence[Entry]) -> str:
    return documents.headed("runs", runs=entries)


def _csv(entries: Sequence[Entry]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Entry)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(entry, name)) for name in names] for entry in entries)
    return text.getvalue()


def _cell(value: object) -> object:
    """What documents say is text of others, and CSV has no escapes of its own."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = " ".join(value) if isinstance(value, tuple) else value
    return escaped(text) if isinstance(text, str) else text
