"""Adds runs to the history: one at its end, and those that were saved before."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.history import merging, prometheus, run_reader
from nccltool.history.database import History, default_file, is_there
from nccltool.history.prometheus import PrometheusServer
from nccltool.history.records import RunRecord

NONE = "none"
"""Instead of a file: nothing is kept."""
_WAIT_S = 5.0
"""How long the end of a run waits for other writers."""
_AT_ONCE = 200
"""Runs that are added together; others write in between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedRuns:
    """What came of an import."""

    file: str
    added: int
    known: int
    """That were in the history already."""
    skipped: tuple[tuple[str, str], ...]
    """(folder, why), of runs that cannot be added."""


def file_of(named: str | None) -> Path | None:
    """The file that is named, else the default; None = none. Raises BadInput where there is no home folder."""
    return None if named == NONE else Path(named) if named else default_file()


def file_to_read(named: str | None) -> Path:
    """The history that a question is about. Raises BadInput."""
    file = file_of(named)
    if file is None:
        raise BadInput("--history none names no history", "name a file, or leave the option out")
    return file


def file_with_runs(named: str | None) -> Path | None:
    """The history that a run may ask; None = there is none yet, or none is to be kept."""
    try:
        file = file_of(named)
    except BadInput:
        return None  # no home folder, and no file was named
    return file if file is not None and is_there(file) else None


def remember(folder: Path, named: str | None) -> str:
    """Add a run that has just ended. Why it was not added; empty = it was, or nothing is to be kept."""
    try:
        file = file_of(named)
    except BadInput:
        return ""  # no home folder, and no file was named: there is no place for a history
    try:
        if file is not None:
            History(file).add([run_reader.read(folder, time.time())], _WAIT_S)
    except BadInput as error:
        return error.message
    return ""


def take_in(file: Path, paths: Sequence[Path | PrometheusServer], now: float, since: float = 0.0) -> ImportedRuns:
    """Add saved runs: a run's folder, a run.json, or a folder of runs, of which those that cannot be read are left
    out; or all runs of another history, or those of a Prometheus since a Unix time. Raises BadInput for what is
    none of these, DidNotComplete."""
    history = History(file)
    coming = _Coming(known_ids=history.ids(), starts=history.starts(), now=now, since=since)
    added = known = 0
    found = (one for path in paths for one in coming.of(path, file))
    while waiting := list(islice(found, _AT_ONCE)):
        new = history.add(waiting)
        added, known = added + new, known + len(waiting) - new
    return ImportedRuns(file=str(file), added=added, known=known + coming.known, skipped=tuple(coming.skipped))


@dataclass(slots=True)
class _Coming:
    """Runs that may be added, and how many may not."""

    known_ids: frozenset[str]
    starts: frozenset[tuple[str, int]]
    now: float
    since: float
    known: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def of(self, path: Path | PrometheusServer, into: Path) -> Iterator[RunRecord]:
        """Those that are not known, of a path or a server. Raises BadInput, DidNotComplete."""
        if isinstance(path, PrometheusServer):
            for record in prometheus.records(path, self.since, self.now):
                if (record.kind, int(record.started)) in self.starts:
                    self.known += 1
                else:
                    yield record
            return
        if merging.is_history(path):
            every = len(History(path).ids())
            new = 0
            for record in merging.records(path, into, self.known_ids):
                new += 1
                yield record
            self.known += every - new
            return
        for run, is_named in _runs(path):
            if run.name in self.known_ids:
                self.known += 1
                continue
            try:
                yield run_reader.read(run, self.now)
            except BadInput as error:
                if is_named:
                    raise
                self.skipped.append((str(run), error.message))


def _runs(path: Path) -> Iterator[tuple[Path, bool]]:
    """(a run, whether it was named itself)."""
    if path.is_dir() and not run_directory.is_run(path):
        inside = run_directory.folders(path)
        if not inside:
            raise BadInput(f"{path} has no saved runs", "name a folder of runs, a run's folder, or a run.json")
        yield from ((run, False) for run in inside if run_directory.has_document(run))
    else:
        yield path, True
