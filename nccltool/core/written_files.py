"""Files that are written: whole or not at all, and never through a link that someone left in their place."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
_ANYONE = 0o666
"""The umask takes from it."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OF_NAME = 64
"""Characters that the name beside a file has of its own: a name has 255 bytes, and a character up to four."""
_NO_ROOM_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""In a folder of others, or where a file is mounted into a container by itself, only its content can change."""


@contextlib.contextmanager
def replacing(path: Path, mode: int = _ANYONE) -> Iterator[BinaryIO]:
    """A file under a random name beside `path`, whose place it takes once it is on the disk. Raises OSError.

    Where `path` is a link, the link is replaced and not what it leads to. A device, pipe, or socket is an OSError.
    """
    beside = _beside(path)
    with os.fdopen(os.open(beside, _NEW, mode), "wb") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise


def replace(path: Path, data: bytes, mode: int = _ANYONE) -> None:
    """Write a file in one step. Raises OSError."""
    with replacing(path, mode) as file:
        file.write(data)


def put(path: Path, data: bytes) -> None:
    """Write to what the user named: a file in one step; a pipe or /dev/stdout as it is. Raises OSError."""
    if _is_no_file(path):
        _write_there(path, data, os.O_APPEND)
        return
    try:
        replace(path, data)
    except OSError as error:
        if error.errno not in _NO_ROOM_BESIDE or not path.exists():
            raise
        _write_there(path, data, os.O_TRUNC | os.O_NOFOLLOW)


def check(path: Path) -> None:
    """Find out whether `put` could write, and change nothing. Raises OSError."""
    if _is_no_file(path):
        if not os.access(path, os.W_OK):  # not opened: that would end a program that reads from the pipe
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return
    beside = _beside(path)
    try:
        os.close(os.open(beside, _NEW, PRIVATE))
        beside.unlink()
    except OSError as error:
        if error.errno not in _NO_ROOM_BESIDE or not path.exists():
            raise
        os.close(os.open(path, _THERE | os.O_NOFOLLOW))


def _beside(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_symlink() and not path.is_file():  # root could replace /dev/null
        raise FileExistsError(errno.EEXIST, "Is a device, pipe, or socket", str(path))
    return path.with_name(f".{path.name[:_OF_NAME]}.{secrets.token_hex(8)}.tmp")


def _is_no_file(path: Path) -> bool:
    """A pipe, a device, or an open file by its number: nothing can be put beside it that would take its place."""
    if os.path.realpath(path.parent).startswith("/proc/") or str(path) in ("/dev/stdout", "/dev/stderr"):
        return True
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def _write_there(path: Path, data: bytes, flags: int) -> None:
    handle = os.open(path, _THERE | flags)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
