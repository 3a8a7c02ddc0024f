"""LOOK at the run directory repeatedly, for monitoring: new runs are read, known ones remembered.

A run that cannot be read is counted, not hidden; one that did not end in order is a failure of its command; one
that may still go on is neither. Numbers that are too old are not shown: of such a run only stays that it was.
"""

import stat
import time
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.user_files import contents
from nccltool.launch.job import Job
from nccltool.monitor import metrics, run_list
from nccltool.monitor.export import HeldAgainst, without_baseline
from nccltool.monitor.metrics import Sample
from nccltool.monitor.run_list import Entry
from nccltool.preflight.result import Preflight

NEWEST = 500
"""Runs that are looked at: a look must not take longer with every run that is kept."""
GRACE_S = 60.0
"""After its own deadline a run has ended, one way or the other."""
AHEAD_S = 3600.0
"""So far the clock of a host may be ahead of ours; a run that begins later than that would look fresh for ever."""


@dataclass(frozen=True, slots=True)
class RunScan:
    """What a look at the run directory found. Two that found the same are equal: then nothing is new."""

    sets: tuple[tuple[Sample, ...], ...] = ()
    """Samples of each run, the newest first."""
    entries: tuple[Entry, ...] = ()
    """The newest first."""
    damaged: int = 0
    problem: str = ""
    """Why the run directory could not be read; empty = it could."""

    def samples(self) -> tuple[Sample, ...]:
        """All of them as one set, with those of the run directory."""
        if self.problem:
            return (Sample("run_directory_readable", (), 0.0),)
        damaged = Sample("damaged_runs", (), float(self.damaged))
        return (*metrics.merged(self.sets), damaged, Sample("run_directory_readable", (), 1.0))


@dataclass(frozen=True, slots=True)
class _Read:
    """A run as it is remembered: samples are worked out once, not at each look."""

    entry: Entry
    started: float
    samples: tuple[Sample, ...]
    """All that it shows."""
    brief: tuple[Sample, ...]
    """That it was, and what came of it."""
    is_suite: bool = False
    is_damaged: bool = False


class RunCache:
    """The runs of a folder."""

    def __init__(self, base: Path, max_age_s: float, against: HeldAgainst = without_baseline) -> None:
        self._base, self._max_age_s, self._against = base, max_age_s, against
        self._read: dict[str, tuple[int, _Read]] = {}

    def look(self, now: float | None = None) -> RunScan:
        """What is there now (`now`: Unix time). Never raises for what is in the folder."""
        now = time.time() if now is None else now
        try:
            if not self._base.is_dir():
                raise BadInput(f"{self._base} is not a folder", "")
            folders = run_directory.folders(self._base)[-NEWEST:]
        except (BadInput, OSError) as error:
            self._read.clear()
            return RunScan(problem=str(error))
        there = {folder.name for folder in folders}
        self._read = {name: known for name, known in self._read.items() if name in there}
        reads = [read for folder in reversed(folders) if (read := self._run(folder, now))]
        return _scan([_believed(read, now) for read in reads], now, self._max_age_s)

    def _run(self, folder: Path, now: float) -> _Read | None:
        """The run in a folder; None = it may still go on."""
        try:
            document = (folder / "run.json").stat()
        except FileNotFoundError:
            return _unfinished(folder, now)
        except OSError:
            return _damaged(folder)
        if not stat.S_ISREG(document.st_mode):  # to read a pipe would hold up all looks
            return _damaged(folder)
        changed, read = self._read.pop(folder.name, (None, None))
        if read is None or changed != document.st_mtime_ns:
            read = _finished(folder, self._against)
        if not read.is_damaged:  # what kept it from being read may pass and leave the time of the file as it was
            self._read[folder.name] = document.st_mtime_ns, read
        return read


def _believed(read: _Read, now: float) -> _Read:
    return read if read.started <= now + AHEAD_S else replace(read, samples=(), brief=(), is_damaged=True)


def _scan(reads: list[_Read], now: float, max_age_s: float) -> RunScan:
    """Samples of all runs that are young enough; of the others, that they were."""
    sets, suite_seen = [], False
    for read in sorted(reads, key=lambda read: read.started, reverse=True):
        is_shown = now - read.started <= max_age_s and not (read.is_suite and suite_seen)
        sets.append(read.samples if is_shown else read.brief)
        suite_seen = suite_seen or (is_shown and read.is_suite)
    damaged = sum(read.is_damaged for read in reads)
    return RunScan(tuple(sets), tuple(read.entry for read in reads), damaged)


def _finished(folder: Path, against: HeldAgainst) -> _Read:
    try:
        run = run_list.load(folder)
        exported = metrics.exported(run, against(run.info, run.measurements))
        return _Read(
            entry=run_list.entry(folder, run),
            started=exported.started,
            samples=metrics.samples(exported),
            brief=metrics.samples(exported.brief()),
            is_suite=isinstance(run, Preflight),
        )
    except (BadInput, ValueError, ArithmeticError):
        return _damaged(folder)


def _unfinished(folder: Path, now: float) -> _Read | None:
    try:
        job = msgspec.json.decode(contents(folder / "job.json", silence_s=0), type=Job)
    except (BadInput, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _damaged(folder)
    started = _time_of(folder.name)
    if now - started < job.deadline_s + GRACE_S:
        return None
    failed = metrics.samples(metrics.ExportedRun(command=job.kind, started=started, status="incomplete"))
    return _Read(run_list.nameless(folder, "incomplete"), started, failed, failed)


def _damaged(folder: Path) -> _Read:
    return _Read(run_list.nameless(folder, "unknown"), _time_of(folder.name), (), (), is_damaged=True)


def _time_of(run_id: str) -> float:
    """When a run began, from its id; 0 where the name is none of ours."""
    moment = run_directory.began(run_id)
    return moment.timestamp() if moment else 0.0
