"""Where logs come from: files, folders of files, standard input; plain, gzip, xz or zstd."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, cast

from nccltool.errors import BadInput

CHUNK_BYTES = 1 << 18
NOT_LOGS = {".pickle", ".pkl", ".pt", ".pth", ".so", ".png", ".safetensors", ".bin", ".npy", ".npz"}
"""Endings of files in a folder that hold no lines."""
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def files(paths: Sequence[str]) -> list[str]:
    """The files that the paths mean, folders in order of names; - is standard input. Raises BadInput."""
    named: list[str] = []
    for path in paths:
        if path == "-":
            named.append(path)
            continue
        place = Path(path)
        if place.is_dir():
            inside = sorted(file for file in place.rglob("*") if file.is_file() and file.suffix not in NOT_LOGS)
            if not inside:
                raise BadInput(f"{path} is a folder without files", "name the folder that holds the logs")
            named += [str(file) for file in inside]
        elif not place.exists():
            raise BadInput(f"{path} does not exist", "name a log, a folder of logs, or - for standard input")
        else:
            named.append(path)
    return list(dict.fromkeys(named))


def chunks(file: str) -> Iterator[bytes]:
    """The content of a file, unpacked, in pieces. Raises BadInput when it cannot be read."""
    try:
        if file == "-":
            yield from _pieces(sys.stdin.buffer, file)
            return
        with Path(file).open("rb") as raw:
            yield from _pieces(raw, file)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        own = getattr(error, "strerror", None)  # of the operating system; else the content is damaged
        why = own or str(error) or type(error).__name__
        remedy = "name a log that this user may read" if own else "unpack what is left of it, and read that"
        raise BadInput(f"{file} cannot be read: {why}", remedy) from error


def is_packed(head: bytes) -> bool:
    """Whether these are the first bytes of a file that chunks() would unpack."""
    return head.startswith((_GZIP, _XZ, _ZSTD))


def unpacked(head: bytes, rest: IO[bytes], file: str) -> Iterator[bytes]:
    """The content of a packed stream whose first bytes have been read already."""
    yield from _pieces(cast(IO[bytes], _Joined(head, rest)), file)


def _pieces(raw: IO[bytes], file: str) -> Iterator[bytes]:
    first = raw.read(CHUNK_BYTES)
    unpacked = _unpacked(_Joined(first, raw), first, file)
    if unpacked is None:
        while first:
            yield first
            first = raw.read(CHUNK_BYTES)
        return
    with closing(unpacked):
        while piece := _read(unpacked):
            yield piece


def _read(unpacked: Any) -> bytes:
    try:
        return cast(bytes, unpacked.read(CHUNK_BYTES))
    except EOFError:
        return b""  # a file that is still being written, or was cut: what is there counts


def _unpacked(source: "_Joined", head: bytes, file: str) -> Any:
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=cast(Any, source))
    if head.startswith(_XZ):
        return lzma.LZMAFile(cast(Any, source))
    if head.startswith(_ZSTD):
        try:
            import zstandard
        except ImportError as error:
            raise BadInput(
                f"{file} is packed with zstd, and Python's zstandard is not installed",
                f"pip install zstandard, or: zstd -dc {file} | nccltool triage -",
            ) from error
        return _Zstd(zstandard.ZstdDecompressor().stream_reader(cast(Any, source), read_across_frames=True))
    return None


class _Zstd:
    """A stream whose errors are those of other packed files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.close = stream.close

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`."""
        import zstandard

        try:
            return cast(bytes, self._stream.read(size))
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error


class _Joined:
    """A stream whose first bytes were looked at already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`."""
        if not self._head:
            return self._rest.read(size)
        end = len(self._head) if size < 0 else size
        piece, self._head = self._head[:end], self._head[end:]
        return piece if size >= 0 else piece + self._rest.read()

    def seekable(self) -> bool:
        """No: it may be a pipe."""
        return False

    def readable(self) -> bool:
        """Yes."""
        return True
