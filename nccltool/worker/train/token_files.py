"""Sequences of tokens in the files of a folder: a byte is a token, and each file is cut into whole sequences."""

import os
import stat
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset

_MOST_FILES = 10_000
_PREFIX_OF_HIDDEN = "."


class NoInput(Exception):
    """A folder has nothing to train with; the message says why."""


class TokenFiles(Dataset[tuple[int, Tensor]]):
    """Sequence number -> (its number, its tokens). Each process opens a file when it first reads it."""

    def __init__(self, folder: Path, context: int) -> None:
        """Raises NoInput, OSError."""
        self._length = context + 1  # the last token is only predicted
        self._files = _files(folder)
        sizes = [size // self._length for _, size in self._files]
        self._ends = list(accumulate(sizes))
        self._open: dict[int, int] = {}
        self._owner = os.getpid()
        if not self._ends or not self._ends[-1]:
            raise NoInput(f"{folder} has no file of at least {self._length} bytes")

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def description(self) -> tuple[tuple[str, int], ...]:
        """(name, bytes) of each file: the same on all ranks, or they train with different data."""
        return tuple((path.name, size) for path, size in self._files)

    def __getitem__(self, number: int) -> tuple[int, Tensor]:
        """Raises NoInput where a file has become shorter, OSError."""
        file = bisect_right(self._ends, number)
        first = self._ends[file - 1] if file else 0
        read = os.pread(self._descriptor(file), self._length, (number - first) * self._length)
        if len(read) < self._length:
            raise NoInput(f"{self._files[file][0]} has become shorter while it was read")
        return number, torch.frombuffer(bytearray(read), dtype=torch.uint8).long()

    def _descriptor(self, file: int) -> int:
        if (
            self._owner != os.getpid()
        ):  # a worker: descriptors of its parent are its own copies, and stay open here
            self.close()
            self._owner = os.getpid()
        if file not in self._open:
            self._open[file] = os.open(self._files[file][0], os.O_RDONLY | os.O_CLOEXEC)
        return self._open[file]

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


def _files(folder: Path) -> list[tuple[Path, int]]:
    """Those of a folder, in the order of their names, with their sizes."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_PREFIX_OF_HIDDEN):
            continue  # not even looked at: locks of editors are links to nothing
        seen = path.stat()
        if stat.S_ISREG(seen.st_mode):
            found.append((path, seen.st_size))
    if len(found) > _MOST_FILES:
        raise NoInput(f"{folder} has {len(found)} files; {_MOST_FILES} can be read")
    return found
