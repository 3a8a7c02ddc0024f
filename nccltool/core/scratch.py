"""A folder for temporary files that goes with its process, however that ends."""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_SHELL = "/bin/sh"
_AT_THE_END = 'read -r _; for _ in 1 2 3 4 5; do rm -rf -- "$0" && exit; sleep 1; done'
"""Standard input ends with the process that holds its other end. What that has started may still be writing."""


@contextlib.contextmanager
def folder(otherwise: Path | None = None) -> Iterator[str]:
    """Where temporary files go, or else in `otherwise`. Raises OSError."""
    path = _made(otherwise)
    with _removed_at_the_end(path):
        yield path


@contextlib.contextmanager
def name_in(base: str) -> Iterator[str]:
    """A name in a folder of the user's, for others to make a folder of it; empty = empty.

    Nobody can foresee it, so it is nobody else's. Never fails: who makes the folder learns why that cannot be.
    """
    if not base:
        yield ""
        return
    path = os.path.join(base, f"nccltool-{secrets.token_hex(8)}")  # noqa: PTH118 - as it was given
    with _removed_at_the_end(path):
        yield path


@contextlib.contextmanager
def _removed_at_the_end(path: str) -> Iterator[None]:
    guard = _guard(path)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if guard is not None:
            if not os.path.lexists(path):  # else something still writes there, and the guard tries again
                guard.kill()
            guard.communicate()


def _made(otherwise: Path | None) -> str:
    try:
        return tempfile.mkdtemp(prefix="nccltool-")
    except OSError:  # no temporary folder that may be written: a read-only container
        if otherwise is None:
            raise
        return tempfile.mkdtemp(prefix="scratch-", dir=otherwise)


def _guard(path: str) -> "subprocess.Popen[bytes] | None":
    """A process that removes the folder when this one was killed; None where there is no shell."""
    try:
        return subprocess.Popen(
            [_SHELL, "-c", _AT_THE_END, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None
