"""Packed files: gzip, xz, zstd and bzip2, told by their first bytes; what ends early is read as far as it goes."""

import bz2
import gzip
import importlib
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any, cast

ERRORS = (lzma.LZMAError, zlib.error)
"""Of damaged content, beside OSError."""
ENDINGS = (".gz", ".xz", ".zst", ".bz2")
_MAGIC = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd", "bzip2": b"BZh"}
_OF_ENDINGS = dict(zip(ENDINGS, _MAGIC.values(), strict=True))
_BLOCKS_OF_BZIP2 = (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
"""What stands behind its size of blocks, a digit: a block, or the end."""


def kind(head: bytes) -> str:
    """What a file is packed with that begins so; empty when it is not packed."""
    found = next((name for name, magic in _MAGIC.items() if head.startswith(magic)), "")
    if found == "bzip2" and not any(head[4:10] == block[: len(head[4:10])] for block in _BLOCKS_OF_BZIP2):
        return ""
    return found


def is_cut_head(name: str, content: bytes) -> bool:
    """Whether this is all of a file that should be packed, by its name, and has not even the mark of that."""
    magic = next((magic for ending, magic in _OF_ENDINGS.items() if name.endswith(ending)), b"")
    return len(content) < len(magic) and magic.startswith(content)


class Unpacked:
    """The content of a packed stream."""

    def __init__(self, source: IO[bytes], what: str) -> None:
        self._source, self._what = source, what
        self.ends_early = False
        """It was cut, or is still being written: known behind the last piece."""

    def pieces(self, size: int) -> Iterator[bytes]:
        """What can be unpacked, at most `size` bytes at a time. Raises OSError and ERRORS for damaged content."""
        with closing(_stream(self._source, self._what)) as stream:
            try:
                while piece := stream.read1(size):  # read() would lose what came before the end
                    yield piece
            except EOFError:
                self.ends_early = True


def _stream(source: IO[bytes], what: str) -> Any:
    if what == "gzip":
        return gzip.GzipFile(fileobj=source)
    if what == "xz":
        return lzma.LZMAFile(cast(Any, source))
    return bz2.BZ2File(source) if what == "bzip2" else _Zstd(zstd().ZstdFile(source))


def zstd() -> Any:
    """Python's own zstd: in its library from 3.14 on, a package of the same content before."""
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


class _Zstd:
    """A stream whose errors are those of other packed files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.close = stream.close

    def read1(self, size: int) -> bytes:
        """The next bytes, at most `size`."""
        try:
            return cast(bytes, self._stream.read1(size))
        except zstd().ZstdError as error:
            raise OSError(str(error)) from error
