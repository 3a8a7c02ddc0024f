"""Where baselines are kept: one SQLite file, safe under writers that come at once or are killed."""

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from nccltool.compare import run_samples
from nccltool.compare.result import Baseline, Circumstances, RowKey, RowSample, RunSample
from nccltool.core import documents
from nccltool.core.documents import now
from nccltool.core.errors import BadInput
from nccltool.core.run_directory import base_folder
from nccltool.core.sqlite_file import SqliteForm, opened, transaction
from nccltool.core.unknown_names import unknown
from nccltool.core.user_files import contents
from nccltool.probe.result import Run

SCHEMA = 1
APPLICATION = 0x6E63636C
"""`nccl` in ASCII, in the header of the file: whose it is."""
LONGEST_NAME = 100
LARGEST = 2**63 - 1
"""That SQLite holds."""

_TABLES = """
CREATE TABLE baseline (
    name TEXT PRIMARY KEY, created TEXT NOT NULL, changed TEXT NOT NULL, note TEXT NOT NULL
);
CREATE TABLE run (
    baseline TEXT NOT NULL REFERENCES baseline (name) ON DELETE CASCADE,
    id TEXT NOT NULL, started TEXT NOT NULL, hosts TEXT NOT NULL, circumstances TEXT NOT NULL,
    PRIMARY KEY (baseline, id)
);
CREATE TABLE measurement (
    baseline TEXT NOT NULL, run TEXT NOT NULL,
    op TEXT NOT NULL, bytes INTEGER NOT NULL, dtype TEXT NOT NULL, reduce_op TEXT,
    placement TEXT NOT NULL, cadence TEXT NOT NULL,
    median_s REAL, mean_s REAL NOT NULL, spread REAL, iterations INTEGER, busbw_bytes_per_s REAL NOT NULL,
    FOREIGN KEY (baseline, run) REFERENCES run (baseline, id) ON DELETE CASCADE
);
CREATE INDEX measurement_of_run ON measurement (baseline, run);
"""

_FORM = SqliteForm(what="baseline store", application=APPLICATION, schema=SCHEMA, tables=_TABLES, option="--store")
_OF_KEYS = tuple(field.name for field in fields(RowKey) if field.name != "of_group")
"""A baseline has no rows of groups."""

Mode = Literal["new", "add", "replace"]


def default_file() -> Path:
    """Beside the runs. Raises BadInput when there is no home folder."""
    return base_folder().parent / "baselines.sqlite"


def named(word: str, store: str | Path | None) -> Baseline:
    """The baseline of a name, or in a file that was exported (*.json). Raises BadInput when there is none."""
    if word.endswith(".json"):
        return from_json(contents(Path(word), "--baseline"), word)
    return Store(Path(store) if store else default_file()).load(word)


class _Document(msgspec.Struct, kw_only=True):
    schema: int
    kind: Literal["baseline"]
    baseline: Baseline


def from_json(text: bytes, where: str) -> Baseline:
    """Read the document of a baseline. Raises BadInput that names `where` and the key that is wrong."""
    remedy = "nccltool baseline export NAME writes one"
    return documents.decoded(text, where, _Document, "a baseline", remedy).baseline


class Store:
    """The baselines in a file. A method is one transaction; it raises BadInput when the file cannot be used."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def save(self, name: str, note: str, runs: Sequence[RunSample], mode: Mode) -> Baseline:
        """Keep runs under a name: a new one, beside those that it has, or in their place."""
        _check_name(name)
        with self._open(create=True) as db, transaction(db):
            known = _load(db, name)
            if known and mode == "new":
                raise BadInput(f"baseline {name!r} already exists", "use --add, --replace, or another name")
            kept = known.runs if known and mode == "add" else ()
            baseline = Baseline(
                name=name,
                created=known.created if known else now(),
                changed=now(),
                note=note or (known.note if known else ""),
                runs=tuple({run.id: run for run in (*kept, *runs)}.values()),
            )
            _of_one_kind(baseline.runs)
            _write(db, baseline)
        return baseline

    def put(self, baseline: Baseline, mode: Mode) -> None:
        """Keep a baseline that comes from elsewhere as it is."""
        _check_name(baseline.name)
        _of_one_kind(baseline.runs)
        with self._open(create=True) as db, transaction(db):
            if mode == "new" and _load(db, baseline.name):
                raise BadInput(f"baseline {baseline.name!r} already exists", "use --replace or --as NAME")
            _write(db, baseline)

    def load(self, name: str) -> Baseline:
        with self._open() as db, transaction(db, "DEFERRED"):
            found = _load(db, name)
            names = _names(db)
        if found is None:
            see = "nccltool baseline list" if names else "create one: nccltool baseline save NAME RUN..."
            raise unknown("baseline", name, names, see, where=f"in {self._file}")
        return found

    def all(self) -> tuple[Baseline, ...]:
        """Every baseline, by name; none when there is no file."""
        if not os.path.exists(self._file):  # noqa: PTH110 - Path.exists raises when the name is too long
            return ()
        with self._open() as db, transaction(db, "DEFERRED"):
            return tuple(found for name in _names(db) if (found := _load(db, name)))

    def remove(self, name: str) -> None:
        with self._open() as db, transaction(db):
            if not db.execute("DELETE FROM baseline WHERE name = ?", (name,)).rowcount:
                raise unknown("baseline", name, _names(db), "nccltool baseline list", where=f"in {self._file}")

    def _open(self, create: bool = False) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        if not create and not os.path.exists(self._file):  # noqa: PTH110 - as above
            problem = f"no baselines: {self._file} does not exist"
            raise BadInput(problem, "nccltool baseline save NAME RUN...")
        return opened(self._file, _FORM, create=create)


def _check_name(name: str) -> None:
    usable = name.isprintable() and name.strip() == name and "," not in name
    if not usable or not 0 < len(name) <= LONGEST_NAME:
        remedy = f"1 to {LONGEST_NAME} printable characters without commas"
        raise BadInput(f"{name!r} cannot name a baseline", remedy)


def _of_one_kind(runs: Sequence[RunSample]) -> None:
    if not runs:
        raise BadInput("a baseline needs a run", "nccltool baseline save NAME RUN...")
    for run in runs:
        if not run.rows:
            raise BadInput(f"run {run.id} has no measurements", "leave it out")
        if any(row.key.of_group for row in run.rows):
            raise BadInput(f"run {run.id} was split into groups", "save a run without --split")
        if any(row.mean_s <= 0 or (row.median_s is not None and row.median_s <= 0) for row in run.rows):
            raise BadInput(f"run {run.id} has a time of 0 or less", "leave it out")
        if any(not 0 <= count <= LARGEST for row in run.rows for count in (row.key.bytes, row.iterations or 0)):
            raise BadInput(f"run {run.id} has an impossible size or count", "leave it out")
        if found := run_samples.differences(runs[0].circumstances, run.circumstances):
            texts = "; ".join(f"{each.key} ({each.a}; {each.b})" for each in found)
            problem = f"{runs[0].id} and {run.id} are not comparable: {texts}"
            raise BadInput(problem, "save them as separate baselines")


def _write(db: sqlite3.Connection, baseline: Baseline) -> None:
    db.execute("DELETE FROM baseline WHERE name = ?", (baseline.name,))
    head = (baseline.name, baseline.created, baseline.changed, baseline.note)
    db.execute("INSERT INTO baseline VALUES (?, ?, ?, ?)", head)
    for run in baseline.runs:
        texts = (_text(run.hosts), _text(run.circumstances))
        db.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?)", (baseline.name, run.id, run.started, *texts))
        db.executemany(
            "INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(baseline.name, run.id, *key[: len(_OF_KEYS)], *numbers) for key, *numbers in map(astuple, run.rows)],
        )


def _load(db: sqlite3.Connection, name: str) -> Baseline | None:
    head = db.execute("SELECT created, changed, note FROM baseline WHERE name = ?", (name,)).fetchone()
    if head is None:
        return None
    rows: dict[str, list[RowSample]] = {}
    for _, run, *cells in db.execute("SELECT * FROM measurement WHERE baseline = ? ORDER BY rowid", (name,)):
        rows.setdefault(run, []).append(_row(cells))
    runs = tuple(
        RunSample(
            id=run,
            started=started,
            hosts=msgspec.json.decode(hosts, type=tuple[str, ...]),
            circumstances=msgspec.json.decode(circumstances, type=Circumstances),
            rows=tuple(rows.get(run, ())),
        )
        for run, started, hosts, circumstances in db.execute(
            "SELECT id, started, hosts, circumstances FROM run WHERE baseline = ? ORDER BY started, id", (name,)
        )
    )
    return Baseline(name=name, created=head[0], changed=head[1], note=head[2], runs=runs)


def _row(cells: Sequence[Any]) -> RowSample:
    """Columns of SQLite hold anything: what is no number must not go further."""
    more = [field.name for field in fields(RowSample)][1:]
    key, numbers = cells[: len(_OF_KEYS)], cells[len(_OF_KEYS) :]
    plain = {"key": dict(zip(_OF_KEYS, key, strict=True)), **dict(zip(more, numbers, strict=True))}
    return msgspec.convert(plain, type=RowSample)


def _names(db: sqlite3.Connection) -> list[str]:
    names = [name for (name,) in db.execute("SELECT name FROM baseline ORDER BY name")]
    if not all(isinstance(name, str) for name in names):  # columns of SQLite hold anything
        raise TypeError("a name is no text")
    return names


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def usable(run: Run) -> RunSample:
    """The sample of a run that may become part of a baseline. Raises BadInput."""
    if run.kind != "probe":
        raise BadInput(f"run {run.info.id} is a run of nccltool {run.kind}", "save runs of nccltool probe")
    if run.verdict.status in ("fail", "incomplete"):
        codes = ", ".join(dict.fromkeys(found.code for found in run.findings if found.is_error))
        raise BadInput(f"run {run.info.id} did not pass: {run.verdict.status} ({codes})", "leave it out")
    return run_samples.of_run(run.info, run.measurements)
