"""Reads another history, run by run, to be added to ours: that of another host, or a copy."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from nccltool.core.errors import BadInput
from nccltool.history.queries import HistoryReader, reading
from nccltool.history.records import VISIT_STATUSES, MeasuredValue, RunRecord, Trouble, Visit

_MAGIC = b"SQLite format 3\0"
_OF_RUNS = "SELECT at, id, kind, status, folder, versions FROM run ORDER BY at"
_Row = tuple[Any, ...]


def is_history(path: Path) -> bool:
    """Whether a path is a file of SQLite."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False  # who reads it says why


def records(file: Path, into: Path, known: Collection[str]) -> Iterator[RunRecord]:
    """The runs of a history that are not known, the oldest first. Raises BadInput."""
    if into.exists() and into.samefile(file):
        raise BadInput(f"{file} is the history itself", "name another one, or another --history")
    with reading(file) as reader:
        yield from _records(reader, reader.connection, known)


def _records(reader: HistoryReader, db: sqlite3.Connection, known: Collection[str]) -> Iterator[RunRecord]:
    """Tables are in the order of hosts: each is sorted once, and all are read side by side."""
    visits = _by_run(db, "SELECT run, host, status, driver FROM visit ORDER BY run")
    troubles = _by_run(db, "SELECT run, host, check_, failed, proven, reason FROM trouble ORDER BY run")
    values = _by_run(db, "SELECT run, host, series, value FROM measured ORDER BY run")
    for at, run, kind, status, folder, versions in db.execute(_OF_RUNS):
        parts = (visits(at), troubles(at), values(at))
        if run not in known:
            yield RunRecord(
                id=str(run),
                started=at / 1000,
                kind=str(kind),
                status=str(status),
                folder=str(folder),
                versions=reader.versions_of(versions),
                visits=tuple(
                    Visit(host=reader.host(host), status=VISIT_STATUSES[one], driver=reader.word(driver))
                    for _, host, one, driver in parts[0]
                ),
                troubles=tuple(
                    Trouble(
                        host=reader.host(host),
                        check=reader.word(check),
                        status="fail" if failed else "warn",
                        proven=bool(proven),
                        reason=str(reason),
                    )
                    for _, host, check, failed, proven, reason in parts[1]
                ),
                values=tuple(
                    MeasuredValue(host=reader.host(host), series=reader.series(one), value=float(value))
                    for _, host, one, value in parts[2]
                ),
            )


def _by_run(db: sqlite3.Connection, query: str) -> Callable[[int], Sequence[_Row]]:
    """What gives the rows of a run; runs are asked for in their order, and rows of no run are left out."""
    groups = groupby(db.execute(query), key=itemgetter(0))
    waiting: list[tuple[int, list[_Row]]] = []

    def of(at: int) -> Sequence[_Row]:
        while not waiting or waiting[0][0] < at:
            waiting.clear()
            found = next(groups, None)
            if found is None:
                return ()
            waiting.append((found[0], list(found[1])))
        return waiting.pop()[1] if waiting[0][0] == at else ()

    return of
