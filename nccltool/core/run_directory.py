"""The run directory: what was measured is here before the next measurement starts.

RUNS/<run id>/job.json       what was asked for
              events.jsonl   everything that ranks said, as it came
              log.txt        everything that they printed
              run.json       the document, written at the end
              collected.txt  in place of measurements of our own: which logs it was put together from
              runs/PART/<run id>/   runs that it started itself, as a preflight does
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from nccltool.core.errors import BadInput, RunDirError
from nccltool.core.user_files import contents
from nccltool.core.written_files import PRIVATE, replace

VARIABLE = "NCCLTOOL_RUN_DIR"
_APPENDED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES, _TRY_AGAIN_S = 20, 0.01
_SILENCE_S = 1.0
"""A document that is piped in comes at once; a pipe that nobody writes to is mostly named by mistake."""
LATEST = "latest"
"""The word for the newest run that has a document."""


def base_folder(named: str | None = None) -> Path:
    """Where runs are kept: in the folder that is named, else in the state folder of the XDG base directories."""
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    if not state:
        try:
            state = str(Path.home() / ".local/state")
        except RuntimeError as error:
            raise BadInput("cannot find a home folder for saved runs", "set HOME or use --run-dir DIR") from error
    return Path(state) / "nccltool/runs"


def new_id() -> str:
    """An id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def hold(folder: Path) -> int:
    """Lock the folder of a run while it is in progress: the descriptor; the end of the process unlocks it."""
    with _said(folder):
        held = os.open(folder / "job.json", os.O_RDONLY)
    for _ in range(_TRIES):
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            break
        except BlockingIOError:  # somebody asks this moment whether the run is in progress
            time.sleep(_TRY_AGAIN_S)
        except OSError:  # a file system without locks: `runs rm` cannot tell then, and says so
            break
    return held


def is_held(folder: Path) -> bool:
    """Whether the run of a folder is in progress, on this host or on one that shares locks with it."""
    try:
        descriptor = os.open(folder / "job.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def began(run_id: str) -> datetime | None:
    """When a run began, by its id; None where the name is none of ours."""
    try:
        return datetime.strptime(run_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def make(folder: Path) -> None:
    """The folder of a new run, for its owner alone: logs may hold what others must not see. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)


def keep(folder: Path, document: str) -> None:
    """Write the document of a run, in one step. Raises RunDirError."""
    with _said(folder):
        replace(folder / "run.json", document.encode() + b"\n", PRIVATE)


class RunDir:
    """One run's folder, open for writing."""

    def __init__(self, base: Path, run_id: str, job: bytes) -> None:
        self.path = base / run_id
        with _said(self.path):
            make(self.path)
            self._events = os.open(self.path / "events.jsonl", _APPENDED, PRIVATE)
            self._log = os.open(self.path / "log.txt", _APPENDED, PRIVATE)
            replace(self.path / "job.json", job, PRIVATE)
        self._held = hold(self.path)

    def event(self, line: bytes) -> None:
        with _said(self.path):
            _write_all(self._events, line)

    def log(self, text: str) -> None:
        with _said(self.path):
            _write_all(self._log, text.encode(errors="replace"))

    def sync(self) -> None:
        """Have everything on the disk."""
        with _said(self.path):
            os.fdatasync(self._events)

    def finish(self, document: str) -> None:
        keep(self.path, document)

    def close(self) -> None:
        os.close(self._events)
        os.close(self._log)
        os.close(self._held)


_COLLECTED = "collected.txt"
"""In the folder of a run that was put together: from what."""


class Draft:
    """The folder of a run that is put together from what others kept; it gets its name at the end."""

    def __init__(self, base: Path) -> None:
        self._base = base
        with _said(base):
            base.mkdir(parents=True, exist_ok=True)
            self._path = Path(tempfile.mkdtemp(prefix=".collecting-", dir=base))
            self._events = (self._path / "events.jsonl").open("wb")
            self._log = (self._path / "log.txt").open("wb")

    def event(self, line: bytes) -> None:
        self._write(self._events, line)

    def log(self, text: bytes) -> None:
        self._write(self._log, text)

    def _write(self, file: BinaryIO, data: bytes) -> None:
        try:
            file.write(data)
        except OSError as error:  # not `with`: it would take longer than the writing
            raise _cannot_write(self._base, error) from error

    def finish(self, run_id: str, job: bytes, document: str, sources: str) -> tuple[Path, bool]:
        """Write the document: (the folder, whether it is this one).

        The folder of a run that was measured here is left alone; that of one that was put together is replaced.
        """
        path = self._base / run_id
        with _said(self._base):
            self._close()
            replace(self._path / "job.json", job, PRIVATE)
            replace(self._path / "run.json", document.encode() + b"\n", PRIVATE)
            replace(self._path / _COLLECTED, sources.encode(errors="replace") + b"\n", PRIVATE)
            if (path / _COLLECTED).exists():
                path.rename(self._path / "earlier")
            if not path.exists():
                self._path.rename(path)
                shutil.rmtree(path / "earlier", ignore_errors=True)
                return path, True
        self.discard()
        return path, False

    def discard(self) -> None:
        self._close()
        shutil.rmtree(self._path, ignore_errors=True)

    def _close(self) -> None:
        self._events.close()
        self._log.close()


@contextlib.contextmanager
def _said(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> RunDirError:
    return RunDirError(
        f"the run directory {path} cannot be written: {error.strerror}",
        f"use a writable folder with free space: --run-dir DIR or {VARIABLE}",
    )


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def document(path: Path) -> tuple[bytes, str]:
    """The text of a run's document, and where it is; of a folder, or of the file itself. Raises BadInput."""
    file = path / "run.json" if path.is_dir() else path
    hint = "the run did not end normally; see its events.jsonl and log.txt" if path.is_dir() else "check the name"
    silence_s = 0.0 if path.is_dir() else _SILENCE_S  # a pipe has no place in a run's folder
    return contents(file, remedy=hint, silence_s=silence_s), str(file)


def folders(base: Path) -> tuple[Path, ...]:
    """The folders of runs, oldest first."""
    try:
        return tuple(sorted(entry for entry in base.iterdir() if _may_have(entry, "job.json")))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadInput(f"{base} cannot be read: {error.strerror}", "check --run-dir") from error


def inside(folder: Path) -> tuple[Path, ...]:
    """The folders of runs that a run started itself, oldest first."""
    parts = _parts(folder / "runs")
    return tuple(sorted((run for part in parts for run in folders(part)), key=lambda run: run.name))


def _parts(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:  # most runs start none
        return ()


def has_document(folder: Path) -> bool:
    """Whether a run ended in order."""
    return _may_have(folder, "run.json")


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run."""
    return _may_have(folder, "job.json") or has_document(folder)


def _may_have(folder: Path, name: str) -> bool:
    """Also of a folder that may not be looked into: it is listed as unknown."""
    try:
        return (folder / name).exists()
    except OSError:
        return True


def find(base: Path, name: str) -> Path:
    """The folder or file of a run: a path; or under `base` an id, the beginning of one id, or `latest`.

    The id may be that of a run that another one started.
    """
    if os.path.exists(name):  # noqa: PTH110 - Path.exists raises when the name is too long for a file
        return Path(name)
    every = folders(base)
    if name == LATEST:
        if newest := next(filter(has_document, reversed(every)), None):
            return newest
        hint = "run nccltool probe or use another folder: --run-dir"
        raise BadInput(f"no runs under {base} yet", hint)
    matches = [folder for folder in every if folder.name.startswith(name)]
    matches = matches or [run for folder in every for run in inside(folder) if run.name.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise BadInput(f"{name!r} matches {len(matches)} runs under {base}", "see nccltool runs")
    from nccltool.core.unknown_names import unknown

    names = [LATEST, *(folder.name for folder in every)]
    raise unknown("run", name, names, "see nccltool runs", where=f"under {base}")
