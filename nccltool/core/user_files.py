"""Files and folders that the user names: no pipe that stays silent and no endless device holds the program up."""

import os
import select
import tempfile
import time
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes

SILENCE_S = 10.0
"""A pipe, `--env-file <(ssh n1 env)`, may take its time; one that nobody writes to says nothing for ever."""
LARGEST = 64 << 20
_PIECE = 1 << 16


def contents(file: Path, option: str, largest: int = LARGEST, silence_s: float = SILENCE_S) -> bytes:
    """All that is in a file. Raises BadInput that names the option and the file."""
    remedy = "check the name and its permissions"
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            data = _all_of(handle, largest, silence_s)
        finally:
            os.close(handle)
    except OSError as error:
        raise BadInput(f"{option} {file} cannot be read: {error.strerror}", remedy) from error
    if data is None:
        raise BadInput(
            f"{option} {file}: no data within {silence_s:g} s", "pass a file, or a pipe that a program writes to"
        )
    if len(data) > largest:
        raise BadInput(f"{option} {file} is larger than {format_bytes(largest)}", remedy)
    return data


def _all_of(handle: int, largest: int, silence_s: float) -> bytes | None:
    """One byte more than the largest, at most; None when it fell silent."""
    found, end = bytearray(), time.monotonic() + silence_s
    ready = select.poll()
    ready.register(handle, select.POLLIN)
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
