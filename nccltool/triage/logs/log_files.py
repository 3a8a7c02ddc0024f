"""Where logs come from: files, folders of files, standard input; plain, or packed."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, cast

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.core.user_files import opened

CHUNK_BYTES = 1 << 18
_PROGRAMS = {".py", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".rs", ".go", ".ipynb"}
"""Endings of programs, which contain every message that they can print."""
NOT_LOGS = {
    *_PROGRAMS,
    *(".pickle", ".pkl", ".pt", ".pth", ".so", ".png", ".safetensors", ".bin", ".npy", ".npz"),
    *(".zip", ".whl", ".pyc", ".parquet", ".nsys-rep", ".sqlite", ".distcp"),
}
"""Endings of files in a folder that hold no lines."""
HEAD_BYTES = 512
"""Of the beginning of a file that are looked at, and remembered of one that grows."""
_RECORDS = {
    b'"coll_perf"': "records of NCCL Inspector",
    b'"inspector_output_format_version"': "records of NCCL Inspector",
    b'"traceEvents"': "a trace of a profiler",
    b'"schemaVersion"': "a trace of a profiler",
    b'"deviceProperties"': "a trace of a profiler",
}
"""What stands at the beginning of JSON that is no log."""
_FOREIGN = {
    b"\x7fELF": "a program, a library, or a core dump",
    b"PK\x03\x04": "a zip archive",
}
_TAR, _TAR_AT = b"ustar", 257
_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2")
"""How files begin that are no logs, whatever they are called. A library holds every message that could come."""


def files(paths: Sequence[str]) -> list[str]:
    """The files that the paths mean, folders in order of names; - is standard input. Raises BadInput."""
    named: list[str] = []
    for path in paths:
        with refusals(path):
            named += _meant(path)
    return list(dict.fromkeys(named))


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """What the operating system refuses while it is looked where a path leads, as BadInput."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        raise BadInput(
            f"{where} cannot be read: {error.strerror}", "name a log that this user may read"
        ) from error


def _meant(path: str) -> list[str]:
    if path == "-":
        return [path]
    if not Path(path).exists():
        raise BadInput(f"{path} does not exist", "name a log, a folder of logs, or - for standard input")
    if not Path(path).is_dir():
        if Path(path).suffix in _PROGRAMS:
            raise BadInput(f"{path} is a program, not a log", "name a log: a program contains all messages")
        return [path]
    inside = [str(file) for file in within(Path(path)) if not foreign(head_of(str(file)))]
    if not inside:
        raise BadInput(f"{path} is a folder without logs", "name the folder that contains the logs")
    return inside


def within(folder: Path) -> list[Path]:
    """The files in a folder, at any depth, that can be logs. Raises OSError where a folder may not be read."""
    found = (Path(place, name) for place, _, names in os.walk(folder, onerror=_refused) for name in names)
    logs = (file for file in found if file.suffix not in NOT_LOGS and not file.name.endswith(_ARCHIVES))
    return sorted(file for file in logs if file.is_file())


def _refused(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # it has just gone
        raise error


def head_of(name: str) -> bytes:
    """The first bytes of a file; empty when it has none, none may be read, or it is a pipe."""
    try:
        if not Path(name).is_file():
            return b""
        with Path(name).open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""  # who reads it says what is wrong


def size_of(name: str) -> int:
    """Bytes of a file; 0 when it is not there."""
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0


def foreign(head: bytes) -> str:
    """What a file is that begins so, when it is no log and is not unpacked either; else nothing."""
    if head[_TAR_AT:].startswith(_TAR):
        return "a tar archive"
    known = next((what for begin, what in _FOREIGN.items() if head.startswith(begin)), "")
    if known or not head.startswith(b"{"):
        return known
    return next((what for word, what in _RECORDS.items() if word in head), "")


class LogContent:
    """The content of a log, unpacked, in pieces."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.ends_early = False
        """It is packed, and was cut or is still being written: known behind the last piece."""

    def __iter__(self) -> Iterator[bytes]:
        """Raises BadInput when it cannot be read."""
        try:
            if self.file == "-":
                if sys.stdin is None:
                    raise BadInput("standard input cannot be read: it is closed", "pipe a log into it")
                yield from self._pieces(sys.stdin.buffer)
                return
            with opened(self.file) as raw:
                yield from self._pieces(raw)
        except (OSError, *packed.ERRORS) as error:
            own = getattr(error, "strerror", None)  # of the operating system; else the content is damaged
            why = own or str(error) or type(error).__name__
            remedy = "name a log that this user may read" if own else "unpack the readable part and name that file"
            raise BadInput(f"{self.file} cannot be read: {why}", remedy) from error

    def behind(self, head: bytes, rest: IO[bytes]) -> Iterator[bytes]:
        """The content of a packed stream whose first bytes have been read already."""
        yield from self._unpacked(head, rest)

    def _pieces(self, raw: IO[bytes]) -> Iterator[bytes]:
        first = raw.read(CHUNK_BYTES)
        self._refuse_foreign(first)
        if packed.kind(first):
            yield from self._unpacked(first, raw)
            return
        if packed.is_cut_head(self.file, first):
            self.ends_early = True
            return
        while first:
            yield first
            first = raw.read(CHUNK_BYTES)

    def _refuse_foreign(self, head: bytes) -> None:
        if what := foreign(head):
            is_packed = what in _FOREIGN.values() or what.endswith("archive")
            remedy = "unpack it and name the log or folder inside" if is_packed else "name the log of the job"
            raise BadInput(f"{self.file} is {what}, not a log", remedy)

    def _unpacked(self, head: bytes, rest: IO[bytes]) -> Iterator[bytes]:
        inside = packed.Unpacked(cast(IO[bytes], _Joined(head, rest)), packed.kind(head))
        pieces = inside.pieces(CHUNK_BYTES)
        first = next(pieces, b"")
        self._refuse_foreign(first)
        yield from chain((first,) if first else (), pieces)
        self.ends_early = inside.ends_early


class _Joined:
    """A stream whose first bytes were looked at already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`."""
        piece, self._head = self._head[:size], self._head[size:]
        return piece or self._rest.read(size)
