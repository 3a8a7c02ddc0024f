"""Sequences of tokens in the files of a folder: a byte is a token, and each file is cut into whole sequences."""

import os
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset

from nccltool.train import input_files
from nccltool.train.input_files import NoInput


class TokenFiles(Dataset[tuple[int, Tensor]]):
    """Sequence number -> (its number, its tokens). Each process opens a file when it first reads it."""

    def __init__(self, folder: Path, context: int) -> None:
        """Raises NoInput, OSError."""
        self._length = context + 1  # the last token is only predicted
        self._files = input_files.found(folder, self._length)
        self._ends = list(accumulate(input_files.sequences(self._files, self._length)))
        self._open: dict[int, int] = {}
        self._owner = os.getpid()

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
