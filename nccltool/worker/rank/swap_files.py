"""A folder for what a rank swaps to files: whether they can be written there, and whether there is room for them.

DeepSpeed's async_io does not look at the result of a write: on a full disk the rank would go on with wrong
numbers, or abort without a reason.
"""

import contextlib
import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator

from nccltool.core.units import format_mib

_SPARE = 2**20
"""Bytes that stay free when all is written: less means that others have taken the room."""


class CannotSwap(Exception):
    """The message says why."""


def made(user_folder: str, name: str, rank: int) -> str:
    """A new folder for a rank in the one of this name, which all ranks of this host share. Raises CannotSwap."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700)  # noqa: PTH102 - not its parents: a file system may not be mounted
        folder = tempfile.mkdtemp(prefix=f"rank{rank}-", dir=name)
        _open_as_deepspeed_does(os.path.join(folder, "direct"))  # noqa: PTH118
    except OSError as error:
        raise CannotSwap(_reason(user_folder, error)) from error
    return folder


def _open_as_deepspeed_does(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600))
    os.unlink(path)  # noqa: PTH108


def _reason(user_folder: str, error: OSError) -> str:
    where = f"--offload-dir {user_folder} cannot be used on {socket.gethostname()}"
    if error.errno == errno.EINVAL:
        return f"{where}: its file system has no direct I/O (O_DIRECT)"
    return f"{where}: {error.strerror or error}"


@contextlib.contextmanager
def reserved(user_folder: str, folder: str, size: int) -> Iterator[None]:
    """Take up so many bytes meanwhile, and some to spare: what all ranks can take at once they can write later.
    Raises CannotSwap."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            _see_that_there_is_room(folder, size + _SPARE)  # else it would fill the disk before it fails
            os.posix_fallocate(file.fileno(), 0, size + _SPARE)
        except OSError as error:
            needed = f"{format_mib(size + _SPARE)} needed per rank"
            raise CannotSwap(f"{_reason(user_folder, error)} ({needed})") from error
        yield


def see_that_it_is_not_full(folder: str) -> None:
    """After something was written. Raises OSError (ENOSPC) where others have filled the file system meanwhile."""
    _see_that_there_is_room(folder, _SPARE)


def _see_that_there_is_room(folder: str, size: int) -> None:
    if shutil.disk_usage(folder).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)


def has_files(folder: str) -> bool:
    """Whether anything was swapped there."""
    return any(files for _, _, files in os.walk(folder))
