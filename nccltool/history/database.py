"""Where the history is kept: one SQLite file (nccltool.core.sqlite_file), which hosts may write at the same time.

Tables are ordered by host, so that the questions about one are a few reads. The key of a run is its time:
milliseconds since 1970, and the next free one where two began at once. A value is a row of some 25 bytes.
"""

import os
import sqlite3
import stat
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.run_directory import base_folder
from nccltool.core.sqlite_file import WAIT_S, SqliteForm, opened, transaction
from nccltool.history.records import VISIT_STATUSES, RunRecord, RunVersions

_TABLES = """
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE word (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE versions (
    id INTEGER PRIMARY KEY, nccltool TEXT NOT NULL, torch TEXT NOT NULL, backend TEXT NOT NULL, gpu TEXT NOT NULL,
    nics TEXT NOT NULL, UNIQUE (nccltool, torch, backend, gpu, nics)
);
CREATE TABLE series (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, detail TEXT NOT NULL, unit TEXT NOT NULL, of_ TEXT NOT NULL,
    UNIQUE (name, detail, unit, of_)
);
CREATE TABLE run (
    at INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, status TEXT NOT NULL,
    folder TEXT NOT NULL, versions INTEGER NOT NULL, hosts INTEGER NOT NULL
);
CREATE TABLE visit (
    host INTEGER NOT NULL, run INTEGER NOT NULL, status INTEGER NOT NULL, driver INTEGER NOT NULL,
    PRIMARY KEY (host, run)
) WITHOUT ROWID;
CREATE TABLE trouble (
    run INTEGER NOT NULL, host INTEGER NOT NULL, check_ INTEGER NOT NULL, failed INTEGER NOT NULL,
    proven INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (run, host, check_)
) WITHOUT ROWID;
CREATE INDEX trouble_of_host ON trouble (host, run);
CREATE INDEX trouble_of_check ON trouble (check_, run);
CREATE TABLE measured (
    host INTEGER NOT NULL, series INTEGER NOT NULL, run INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (host, series, run)
) WITHOUT ROWID;
CREATE TABLE line (host INTEGER NOT NULL, series INTEGER NOT NULL, PRIMARY KEY (host, series)) WITHOUT ROWID;
"""
FORM = SqliteForm(what="history", application=0x6E636368, schema=1, tables=_TABLES, option="--history")
"""`ncch` in ASCII."""
KEPT_S = 5 * 365.25 * 86400
"""Older runs are removed when new ones come."""
_SLACK_S = 30 * 86400
"""So long they wait for it, so that it is rarely done."""


def default_file() -> Path:
    """Beside the runs. Raises BadInput when there is no home folder."""
    return base_folder().parent / "history.sqlite"


class History:
    """The runs in a file. A method is one transaction; it raises BadInput when the file cannot be used."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, records: Iterable[RunRecord], wait_s: float = WAIT_S) -> int:
        """Keep runs; those whose id is there are left as they are. How many are new."""
        with opened(self.file, FORM, create=True, wait_s=wait_s) as db, transaction(db):
            count = sum(_add(db, record) for record in records)
            oldest, newest = db.execute("SELECT min(at), max(at) FROM run").fetchone()
            if count and oldest < newest - _key(KEPT_S + _SLACK_S):
                _remove(db, newest - _key(KEPT_S))
            return count

    def ids(self) -> frozenset[str]:
        """Of all runs; none where there is no file."""
        if not is_there(self.file):
            return frozenset()
        with opened(self.file, FORM) as db:
            return frozenset(str(run) for (run,) in db.execute("SELECT id FROM run"))

    def starts(self) -> frozenset[tuple[str, int]]:
        """Command and second of all runs."""
        if not is_there(self.file):
            return frozenset()
        with opened(self.file, FORM) as db:
            return frozenset((str(kind), at // 1000) for kind, at in db.execute("SELECT kind, at FROM run"))

    def prune(self, before: float, dry_run: bool = False) -> int:
        """Remove the runs that began before this Unix time, and give their space back. How many there are."""
        if not is_there(self.file):
            raise BadInput(f"no history: {self.file} does not exist or is empty", "check --history")
        with opened(self.file, FORM) as db:
            with transaction(db):
                found = db.execute("SELECT count(*) FROM run WHERE at < ?", (_key(before),)).fetchone()[0]
                if found and not dry_run:
                    _remove(db, _key(before))
            if found and not dry_run:
                db.execute("VACUUM")
        return int(found)


def is_there(file: Path) -> bool:
    """Whether there is a file of this name with something in it: a full disk leaves an empty one."""
    try:
        return os.stat(file).st_size > 0 or not stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116 - of long names
    except (OSError, ValueError):
        return False


def _remove(db: sqlite3.Connection, before: int) -> None:
    """Runs before a time, host by host: tables are in that order, and are not read from end to end."""
    db.execute("DELETE FROM run WHERE at < ?", (before,))
    db.execute("DELETE FROM trouble WHERE run < ?", (before,))
    hosts = [host for (host,) in db.execute("SELECT id FROM host")]
    db.executemany("DELETE FROM visit WHERE host = ? AND run < ?", ((host, before) for host in hosts))
    lines = db.execute("SELECT host, series FROM line").fetchall()
    db.executemany(
        "DELETE FROM measured WHERE host = ? AND series = ? AND run < ?", ((*line, before) for line in lines)
    )
    db.execute(
        "DELETE FROM line WHERE NOT EXISTS "
        "(SELECT 1 FROM measured WHERE measured.host = line.host AND measured.series = line.series)"
    )
    db.execute(
        "DELETE FROM host WHERE NOT EXISTS (SELECT 1 FROM visit WHERE visit.host = host.id)"
        " AND NOT EXISTS (SELECT 1 FROM line WHERE line.host = host.id)"
        " AND NOT EXISTS (SELECT 1 FROM trouble WHERE trouble.host = host.id)"
    )


def _key(moment: float) -> int:
    return int(moment * 1000)


def _add(db: sqlite3.Connection, record: RunRecord) -> bool:
    if db.execute("SELECT 1 FROM run WHERE id = ?", (record.id,)).fetchone():
        return False
    at = _key(record.started)
    while db.execute("SELECT 1 FROM run WHERE at = ?", (at,)).fetchone():
        at += 1
    versions = _id(db, "versions", *astuple(record.versions))
    row = (at, record.id, record.kind, record.status, record.folder, versions, len(record.visits))
    db.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    _write_rows(db, at, record)
    return True


def _write_rows(db: sqlite3.Connection, at: int, record: RunRecord) -> None:
    names = {one.host for part in (record.visits, record.troubles, record.values) for one in part}
    hosts = {name: _id(db, "host", name) for name in sorted(names)}
    words = {*(one.driver for one in record.visits), *(one.check for one in record.troubles)}
    ids = {word: _id(db, "word", word) for word in sorted(words)}
    series = {one.series for one in record.values}
    kept = {one: _id(db, "series", *astuple(one)) for one in sorted(series, key=astuple)}
    db.executemany(
        "INSERT INTO visit VALUES (?, ?, ?, ?)",
        ((hosts[v.host], at, VISIT_STATUSES.index(v.status), ids[v.driver]) for v in record.visits),
    )
    db.executemany(
        "INSERT INTO trouble VALUES (?, ?, ?, ?, ?, ?)",
        ((at, hosts[t.host], ids[t.check], t.status == "fail", t.proven, t.reason) for t in record.troubles),
    )
    db.executemany(
        "INSERT INTO measured VALUES (?, ?, ?, ?)",
        ((hosts[value.host], kept[value.series], at, value.value) for value in record.values),
    )
    lines = {(hosts[value.host], kept[value.series]) for value in record.values}
    db.executemany("INSERT OR IGNORE INTO line VALUES (?, ?)", sorted(lines))


_COLUMNS = {
    "host": ("name",),
    "word": ("name",),
    "versions": tuple(field.name for field in fields(RunVersions)),
    "series": ("name", "detail", "unit", "of_"),
}


def _id(db: sqlite3.Connection, table: str, *values: str) -> int:
    """The number of what is written once: that which it has, or a new one."""
    columns = _COLUMNS[table]
    same = " AND ".join(f"{column} = ?" for column in columns)
    found = db.execute(f"SELECT id FROM {table} WHERE {same}", values).fetchone()  # noqa: S608 - names of ours
    if found is None:
        places = f"({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        return int(db.execute(f"INSERT INTO {table} {places}", values).lastrowid or 0)
    return int(found[0])
