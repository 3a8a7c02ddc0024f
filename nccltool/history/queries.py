"""What the file of a history holds, as rows that the judge takes: a question is a few reads."""

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from nccltool.core.errors import BadInput
from nccltool.core.sqlite_file import WAIT_S, opened, transaction
from nccltool.history.database import FORM, is_there
from nccltool.history.records import VISIT_STATUSES, RunVersions, Series, VisitStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A run in the file."""

    at: int
    """Its key: milliseconds since 1970."""
    id: str
    kind: str
    versions: RunVersions
    hosts: int
    """How many it was on."""


class StoredVisit(NamedTuple):
    """A run on a host."""

    at: int
    status: VisitStatus
    driver: str


class SeenVersions(NamedTuple):
    """What a run found on a host."""

    driver: str
    run: RunVersions


class StoredTrouble(NamedTuple):
    """A check that did not pass in a run."""

    at: int
    host: str
    check: str
    proven: bool
    reason: str
    hosts: int
    """That had the same in this run."""


class StoredValue(NamedTuple):
    """A value of a series."""

    at: int
    value: float


_ROW = tuple.__new__
"""Makes a row without a call in Python: of all hosts, a year has 200,000."""
_LOOKED_BACK = 10
"""Runs before one, for the driver that was there: not every command asks for it."""
Line = tuple[str, Series]
"""A host, and what was measured of it."""


@contextlib.contextmanager
def reading(file: Path, wait_s: float = WAIT_S) -> Iterator["HistoryReader"]:
    """The history at one moment. Raises BadInput when there is none, or it cannot be used."""
    if not is_there(file):
        raise BadInput(
            f"no history: {file} does not exist or is empty",
            "runs are added at their end; add saved ones with nccltool history import",
        )
    try:
        with opened(file, FORM, wait_s=wait_s) as db, transaction(db, "DEFERRED"):
            yield HistoryReader(db)
    except (LookupError, ValueError, OverflowError) as error:  # rows that point at nothing, times beyond all years
        raise BadInput(
            f"{file} cannot be used: its tables contradict each other",
            "it is damaged; use another file: --history FILE",
        ) from error


class HistoryReader:
    """Reads the tables. What is no text where text should be raises TypeError, which `opened` words."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._hosts = self._names("host")
        self._words = self._names("word")
        columns = ", ".join(RunVersions.__slots__)
        self._versions = {
            int(key): RunVersions(**dict(zip(RunVersions.__slots__, map(_text, row), strict=True)))
            for key, *row in db.execute(f"SELECT id, {columns} FROM versions")  # noqa: S608 - names of ours
        }
        self._series = {
            int(key): Series(name=_text(name), detail=_text(detail), unit=_text(unit), of=_text(of))
            for key, name, detail, unit, of in db.execute("SELECT id, name, detail, unit, of_ FROM series")
        }

    def _names(self, table: str) -> dict[int, str]:
        found = self._db.execute(f"SELECT id, name FROM {table}")  # noqa: S608 - a name of ours
        return {int(key): _text(name) for key, name in found}

    @property
    def connection(self) -> sqlite3.Connection:
        """For those who read all of it."""
        return self._db

    def host(self, key: int) -> str:
        """The name of a number."""
        return self._hosts[key]

    def word(self, key: int) -> str:
        """A driver or a check."""
        return self._words[key]

    def series(self, key: int) -> Series:
        """What was measured."""
        return self._series[key]

    def versions_of(self, key: int) -> RunVersions:
        """What a run used."""
        return self._versions[key]

    @property
    def hosts(self) -> Collection[str]:
        return {name for name in self._hosts.values() if name}

    @property
    def checks(self) -> Collection[str]:
        """Those that ever did not pass, and those of series."""
        found = self._db.execute("SELECT DISTINCT check_ FROM trouble")
        return {self._words[check] for (check,) in found} | {
            one.name for one in self._series.values() if not one.of
        }

    @property
    def operations(self) -> Collection[str]:
        """Strategies too."""
        return {one.of for one in self._series.values() if one.of}

    def newest(self) -> int:
        """The key of the latest run; 0 = there is none."""
        return int(self._db.execute("SELECT max(at) FROM run").fetchone()[0] or 0)

    def runs(self, since: int) -> Mapping[int, StoredRun]:
        """By their key, in order."""
        found = self._db.execute(
            "SELECT at, id, kind, versions, hosts FROM run WHERE at >= ? ORDER BY at", (since,)
        )
        return {
            at: StoredRun(at=at, id=_text(run), kind=_text(kind), versions=self._versions[versions], hosts=hosts)
            for at, run, kind, versions, hosts in found
        }

    def visits(self, since: int, hosts: Collection[str] | None = None) -> Mapping[str, Sequence[StoredVisit]]:
        """The runs on each host, in order; None = on all hosts."""
        found: dict[str, list[StoredVisit]] = {}
        for key in self._keys(hosts):
            rows = self._db.execute(
                "SELECT run, status, driver FROM visit WHERE host = ? AND run >= ? ORDER BY run", (key, since)
            )
            mine = [
                _ROW(StoredVisit, (at, VISIT_STATUSES[status], self._words[driver])) for at, status, driver in rows
            ]
            if mine:
                found[self._hosts[key]] = mine
        return found

    def _keys(self, hosts: Collection[str] | None) -> list[int]:
        return [key for key, name in self._hosts.items() if (name in hosts if hosts is not None else name)]

    def troubles(self, since: int, host: str | None = None, check: str | None = None) -> Sequence[StoredTrouble]:
        """What did not pass, in order; of one host or of one check, or all."""
        asked, words = "", [since]
        if host is not None:
            asked, words = " AND host = ?", [since, _key_of(self._hosts, host)]
        elif check is not None:
            asked, words = " AND check_ = ?", [since, _key_of(self._words, check)]
        rows = self._db.execute(
            f"SELECT run, host, check_, proven, reason FROM trouble WHERE run >= ?{asked}",  # noqa: S608 - ours
            words,
        ).fetchall()
        counts: dict[tuple[int, int], int] = {}
        for one in {row[2] for row in rows}:
            counted = self._db.execute(
                "SELECT run, count(*) FROM trouble WHERE check_ = ? AND run >= ? GROUP BY run", (one, since)
            )
            counts |= {(run, one): count for run, count in counted}
        return sorted(
            StoredTrouble(at, self._hosts[of], self._words[one], bool(proven), _text(why), counts[at, one])
            for at, of, one, proven, why in rows
        )

    def first_seen(self, host: str, check: str) -> int:
        """When a check did not pass for the first time on a host, in all of the history."""
        return int(
            self._db.execute(
                "SELECT min(run) FROM trouble WHERE host = ? AND check_ = ?",
                (_key_of(self._hosts, host), _key_of(self._words, check)),
            ).fetchone()[0]
        )

    def versions_until(self, host: str, at: int) -> Sequence[SeenVersions]:
        """What a run and some before it found, the newest first; of all hosts together, no driver."""
        words = [at, _LOOKED_BACK]
        if not host:
            found = self._db.execute("SELECT versions FROM run WHERE at <= ? ORDER BY at DESC LIMIT ?", words)
            return [SeenVersions("", self._versions[versions]) for (versions,) in found]
        found = self._db.execute(
            "SELECT driver, versions FROM visit JOIN run ON run.at = visit.run"
            " WHERE host = ? AND visit.run <= ? ORDER BY visit.run DESC LIMIT ?",
            [_key_of(self._hosts, host), *words],
        )
        return [SeenVersions(self._words[driver], self._versions[versions]) for driver, versions in found]

    def lines(self) -> Sequence[Line]:
        """Everything that was ever measured of hosts."""
        return [(self._hosts[host], self._series[one]) for host, one in self._db.execute("SELECT * FROM line")]

    def values(self, since: int, lines: Sequence[Line]) -> Mapping[Line, Sequence[StoredValue]]:
        """The values of these, in order; nothing of those without one."""
        host_keys = {name: key for key, name in self._hosts.items()}
        series_keys = {one: key for key, one in self._series.items()}
        found = {}
        for line in lines:
            rows = self._db.execute(
                "SELECT run, value FROM measured WHERE host = ? AND series = ? AND run >= ?"
                " AND typeof(value) = 'real' AND value > 0 AND value < 9e999 ORDER BY run",
                (host_keys[line[0]], series_keys[line[1]], since),
            )
            mine = list(starmap(StoredValue, rows))
            if mine:
                found[line] = mine
        return found


def _key_of(names: Mapping[int, str], name: str) -> int:
    """Its number; one that nothing has where the name is not known."""
    return next((key for key, one in names.items() if one == name), -1)


def _text(value: object) -> str:
    """Columns of SQLite hold anything: what is no text must not go further."""
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def by_host(troubles: Sequence[StoredTrouble]) -> Mapping[tuple[str, str], Sequence[StoredTrouble]]:
    """By host and check."""
    found = defaultdict[tuple[str, str], list[StoredTrouble]](list)
    for one in troubles:
        found[one.host, one.check].append(one)
    return found
