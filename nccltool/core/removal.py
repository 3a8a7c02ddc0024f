"""Removes runs: only folders of runs that lie in the run directory itself, and none that is in progress."""

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nccltool.core import documents, run_directory
from nccltool.core.errors import BadInput
from nccltool.core.units import parse_age

_HELD = "job.json"
"""A command locks it as long as its run is in progress."""


def named(base: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """The folders of runs that names stand for. Raises BadInput, before anything is removed."""
    every = {folder.name: folder for folder in run_directory.folders(base)}
    found = []
    for name in names:
        path = every.get(name) or run_directory.find(base, name)
        if every.get(path.name) != base / path.name or path.parent.absolute() != base.absolute():
            raise BadInput(f"{name!r} is not in the run directory {base}", "only saved runs can be removed")
        found.append(base / path.name)
    return tuple(dict.fromkeys(found))


def prunable(base: Path, older_than: str | None, keep: int | None) -> tuple[Path, ...]:
    """The runs that are older than a time and not among the newest, oldest first. Raises BadInput."""
    every = run_directory.folders(base)
    beyond = every[: max(len(every) - (keep or 0), 0)]
    if older_than is None:
        return beyond
    before = time.time() - parse_age(older_than, "--older-than")
    return tuple(folder for folder in beyond if (began := _began(folder)) is not None and began < before)


def _began(folder: Path) -> float | None:
    """By its id; of a folder that is named otherwise, when it was changed. None = not known."""
    if moment := run_directory.began(folder.name):
        return moment.timestamp()
    with contextlib.suppress(OSError):
        return folder.lstat().st_mtime
    return None


def why_not(folder: Path) -> str:
    """Why a run is not removed; empty = it can be."""
    if folder.is_symlink():
        return "a symbolic link: not followed"
    try:
        with _locked(folder / _HELD):
            return ""
    except BlockingIOError:
        return "in progress"
    except OSError as error:
        return f"cannot tell whether it is in progress: {error.strerror}"


def remove(folder: Path) -> str:
    """Remove a run with everything in its folder; links in it are removed, not followed. Says why not."""
    if reason := why_not(folder):
        return reason
    beside = folder.with_name(f".removing-{folder.name}")
    try:
        folder.rename(beside)  # from here on no list shows half of it
        shutil.rmtree(beside)
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return ""


def to_json(reasons: Mapping[str, str], dry_run: bool) -> str:
    """What was removed, and what was not and why: by name, the reason of each or nothing."""
    left = [{"id": name, "reason": reason} for name, reason in reasons.items() if reason]
    return documents.headed(
        "removed-runs",
        status="fail" if left else "pass",
        exit_code=1 if left else 0,
        dry_run=dry_run,
        removed=[name for name, reason in reasons.items() if not reason],
        left=left,
    )


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(error.errno, error.strerror) from error
        raise
    finally:
        os.close(descriptor)
