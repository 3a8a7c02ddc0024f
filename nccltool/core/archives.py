"""The files inside an archive or a packed file, read in memory: nothing is written, and what grows is stopped.

Tar and zip archives, gzip, bzip2, xz and zstd, one in the other. Names in an archive are only shown, never opened.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import NoReturn

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes

LARGEST = 256 << 20
"""Bytes of all files of one archive together."""
MOST_FILES = 10_000
_DEEPEST = 3
"""Layers: a packed archive of packed files."""
_PIECE = 1 << 18
_TAR, _TAR_AT = b"ustar", 257
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGED = (*packed.ERRORS, OSError, EOFError, ValueError, tarfile.TarError, zipfile.BadZipFile)
_UNSUPPORTED = (NotImplementedError, RuntimeError)
"""zipfile: a kind of compression that Python does not know, and a password."""


def kind(data: bytes) -> str:
    """What a file is that begins so: gzip, tar, zip; empty when it is neither packed nor an archive."""
    if data[_TAR_AT:].startswith(_TAR):
        return "tar"
    return "zip" if data.startswith(_ZIPS) else packed.kind(data)


def files(data: bytes, where: str) -> list[tuple[str, bytes]]:
    """(name, content) of the files in it; of a plain file itself. Raises BadInput for damage and for bounds."""
    found: list[tuple[str, bytes]] = []
    left = LARGEST
    for name, content in _within(data, where, where, 0):
        left -= len(content)
        if left < 0 or len(found) >= MOST_FILES:
            most = f"{format_bytes(LARGEST)} or {MOST_FILES} files"
            raise BadInput(f"{where} holds more than {most}", "unpack it and name the files")
        found.append((name, content))
    return found


def _within(data: bytes, name: str, whole: str, depth: int) -> Iterator[tuple[str, bytes]]:
    what = kind(data)
    if not what:
        yield name, data
        return
    if depth == _DEEPEST:
        raise BadInput(f"{name}: archives are nested more than {_DEEPEST} deep", "unpack it")
    try:
        if what in ("tar", "zip"):
            for inside, content in _in_tar(data) if what == "tar" else _in_zip(data):
                yield from _within(content, f"{name}, {_shown(inside)}", whole, depth + 1)
        else:
            yield from _within(_unpacked(data, what, name), name, whole, depth + 1)
    except BadInput:
        raise
    except _DAMAGED as error:
        _refuse(name, what, f"is damaged: {error or type(error).__name__}")
    except _UNSUPPORTED as error:
        _refuse(name, what, f"cannot be read: {error or type(error).__name__}")


def _refuse(name: str, what: str, problem: str) -> NoReturn:
    raise BadInput(f"{name} is packed with {what} and {problem}", "copy it again, or unpack it and name the files")


def _unpacked(data: bytes, what: str, name: str) -> bytes:
    inside = packed.Unpacked(io.BytesIO(data), what)
    found = bytearray()
    for piece in inside.pieces(_PIECE):
        found += piece
        if len(found) > LARGEST:
            _refuse(name, what, f"holds more than {format_bytes(LARGEST)}")
    if inside.ends_early:
        _refuse(name, what, "ends early")
    return bytes(found)


def _in_tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            if member.isreg() and (file := archive.extractfile(member)):
                yield member.name, file.read()


def _in_zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, file.read(LARGEST + 1)


def _shown(name: str) -> str:
    """A name that was not chosen by us, on one line of readable text."""
    printable = name.encode(errors="backslashreplace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in printable)[:200]
