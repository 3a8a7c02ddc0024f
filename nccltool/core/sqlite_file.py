"""Files of SQLite that several writers share, be it over a network: opened, prepared, and refused in one wording.

A rollback journal and not a write-ahead log: home folders of clusters are on NFS or Lustre, where a log's shared
memory does not work (sqlite.org/wal.html, section 1). The journal needs locks that work (flock on Lustre, lockd or
NFS 4); without them, name a file on a local disk. A writer takes the lock before it looks, so that two never wait
for one another; others wait for it. What is said to be saved has been synced.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nccltool.core.errors import BadInput

WAIT_S = 30.0
"""How long to wait for other writers; each takes some milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SqliteForm:
    """Whose file it is, and what is in it."""

    what: str
    """`baseline store`."""
    application: int
    """In the header of the file."""
    schema: int
    tables: str
    """The statements that make them, with a semicolon after each."""
    option: str
    """That names another file."""


@contextlib.contextmanager
def opened(
    file: Path, form: SqliteForm, *, create: bool = False, wait_s: float = WAIT_S
) -> Iterator[sqlite3.Connection]:
    """A connection without a transaction. Raises BadInput when the file cannot be used."""
    try:
        if create:
            file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(_connected(file, create, wait_s)) as db:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA synchronous = FULL")
            _prepare(db, file, form, create)
            yield db
    except (sqlite3.Error, msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        raise _cannot_use(file, form, error) from error
    except OSError as error:
        problem = f"{file} cannot be used: {error.strerror}"
        raise BadInput(problem, f"use another file: {form.option} FILE") from error


def _connected(file: Path, create: bool, wait_s: float) -> sqlite3.Connection:
    """To read a file that nobody here may write needs no lock file beside it."""
    if create or os.access(file, os.W_OK):
        return sqlite3.connect(file, timeout=wait_s, isolation_level=None)
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=wait_s, isolation_level=None, uri=True)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All or nothing; `DEFERRED` = it only reads."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _cannot_use(file: Path, form: SqliteForm, error: Exception) -> BadInput:
    text = str(error) if isinstance(error, sqlite3.Error) else f"malformed: {error}"
    if "locked" in text:
        remedy = (
            "another process holds the lock: try again; on NFS or Lustre, check that file locks work or use "
            f"{form.option} FILE"
        )
    elif any(word in text for word in ("not a database", "malformed", "decode")):
        remedy = f"it is damaged or not a {form.what}; use another file: {form.option} FILE"
    else:
        remedy = (
            "check that its folder exists, is writable, and has free space, or use another file: "
            f"{form.option} FILE"
        )
    return BadInput(f"{file} cannot be used: {text}", remedy)


def _prepare(db: sqlite3.Connection, file: Path, form: SqliteForm, create: bool) -> None:
    """Make the tables in a new file; refuse one of others."""
    if create and _version(db) == (0, 0):
        with transaction(db):
            if _version(db) == (0, 0) and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in filter(str.strip, form.tables.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {form.application}")
                db.execute(f"PRAGMA user_version = {form.schema}")
    application, version = _version(db)
    if application != form.application:
        raise BadInput(f"{file} is not a {form.what}", f"use another file: {form.option} FILE")
    if version != form.schema:
        raise BadInput(
            f"{file} has schema {version}, but this nccltool reads {form.schema}",
            "use the version of nccltool that wrote it",
        )


def _version(db: sqlite3.Connection) -> tuple[int, int]:
    found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    return int(found[0]), int(found[1])
