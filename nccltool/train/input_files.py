"""Files of a folder to train with."""

import stat
from collections.abc import Sequence
from pathlib import Path

_MOST_FILES = 10_000
_PREFIX_OF_HIDDEN = "."


class NoInput(Exception):
    """A folder has nothing to train with; the message says why."""


def found(folder: Path, length: int) -> tuple[tuple[Path, int], ...]:
    """(path, bytes) in the order of their names; one has `length` tokens at least. Raises NoInput, OSError."""
    files = tuple(_files(folder))
    if len(files) > _MOST_FILES:
        raise NoInput(f"{folder} has {len(files)} files; {_MOST_FILES} can be read")
    if not any(sequences(files, length)):
        raise NoInput(f"{folder} has no file of at least {length} bytes")
    return files


def sequences(files: Sequence[tuple[Path, int]], length: int) -> list[int]:
    """Whole ones of each file."""
    return [size // length for _, size in files]


def _files(folder: Path) -> list[tuple[Path, int]]:
    files = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_PREFIX_OF_HIDDEN):
            continue  # not even looked at: locks of editors are links to nothing
        seen = path.stat()
        if stat.S_ISREG(seen.st_mode):
            files.append((path, seen.st_size))
    return files
