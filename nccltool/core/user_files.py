"""Files and folders that the user names: no pipe that stays silent and no endless device holds the program up."""

import os
import select
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes

SILENCE_S = 10.0
"""A pipe, `--env-file <(ssh n1 env)`, may take its time; one that nobody writes to says nothing for ever."""
LARGEST = 64 << 20
_PIECE = 1 << 16
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_WRITTEN_TO = "pass a file or a pipe that a program writes to"


def contents(
    file: Path | str,
    option: str = "",
    *,
    remedy: str = "check the name and its permissions",
    largest: int = LARGEST,
    silence_s: float = SILENCE_S,
) -> bytes:
    """All that is in a file. Raises BadInput that names the option and the file."""
    name = str(file) or "''"
    what = f"{option} {name}".lstrip()
    try:
        handle = os.open(file, _READ)
        try:
            return _all_of(handle, what, largest, silence_s)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise BadInput(f"{what} cannot be read: {getattr(error, 'strerror', None) or error}", remedy) from error


def _all_of(handle: int, what: str, largest: int, silence_s: float) -> bytes:
    data = _read(handle, largest, silence_s)
    if data is None:
        raise BadInput(f"{what}: no data within {silence_s:g} s", _WRITTEN_TO)
    if len(data) > largest:
        raise BadInput(f"{what} is larger than {format_bytes(largest)}", "pass a smaller file")
    return data


def piped_in(option: str, *, largest: int = LARGEST, silence_s: float = SILENCE_S) -> bytes:
    """All that a program pipes into this one. Raises BadInput that names the option."""
    if sys.stdin is None or sys.stdin.isatty():
        why = "it is closed" if sys.stdin is None else "it is a terminal"
        raise BadInput(f"{option} cannot be read from standard input: {why}", "pipe a file into it")
    return _all_of(sys.stdin.fileno(), f"{option} from standard input", largest, silence_s)


def standard_input(largest: int = LARGEST) -> bytes:
    """All that is piped in, however slowly it comes. Raises BadInput."""
    if sys.stdin is None:
        raise BadInput("standard input cannot be read: it is closed", "pipe a file into it")
    data = sys.stdin.buffer.read(largest + 1)
    if len(data) > largest:
        raise BadInput(f"standard input is larger than {format_bytes(largest)}", "pass a smaller file")
    return data


def opened(file: Path | str) -> BinaryIO:
    """A file of any size, to be read in pieces. Raises OSError; BadInput for a device and a silent pipe."""
    handle = os.open(file, _READ)
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISCHR(kind) and not os.isatty(handle):
            raise BadInput(f"{file} is a device, not a file", "name a file")
        if stat.S_ISFIFO(kind) and not _polled(handle).poll(SILENCE_S * 1000):
            raise BadInput(f"{file}: no data within {SILENCE_S:g} s", _WRITTEN_TO)
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _polled(handle: int) -> select.poll:
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    return ready


def _read(handle: int, largest: int, silence_s: float) -> bytes | None:
    """One byte more than the largest, at most; None when it fell silent."""
    found, end = bytearray(), time.monotonic() + silence_s
    ready = _polled(handle)
    while len(found) <= largest:
        if not ready.poll(max(0.0, end - time.monotonic()) * 1000):
            return None
        try:
            piece = os.read(handle, min(_PIECE, largest + 1 - len(found)))
        except BlockingIOError:
            continue
        if not piece:
            break
        found += piece
        end = time.monotonic() + silence_s
    return bytes(found)


def folder(option: str, name: str) -> str:
    """A folder for files of a run is made: its whole name, since ranks may begin elsewhere. Raises BadInput."""
    try:
        path = Path(name).absolute()
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{option} {name} is not writable: {reason}", "name another folder") from error
    return str(path)
