"""Where results go: standard output or the file of --output, in each form that is asked for.

Apart from the screen of runs: commands that only read files start without what draws those.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import click

from nccltool.cli import deliveries
from nccltool.cli.looks import look_of
from nccltool.cli.streams import nobody_reads
from nccltool.core import written_files
from nccltool.core.errors import BadInput, NccltoolError, ResultNotWritten
from nccltool.core.look import Look


def put(text: str | bytes) -> None:
    """Write the result to standard output, all of it. Raises ResultNotWritten."""
    if sys.stdout is None:
        raise ResultNotWritten("standard output is closed", "redirect it to a file or a pipe")
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, ValueError, OSError):  # replaced by something that is no file
        click.echo(text, nl=False)
        return
    data = text.encode(errors="replace") if isinstance(text, str) else text
    try:
        while data:  # not print(): with unbuffered output a signal would cost it the rest
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        nobody_reads(sys.stdout)
    except OSError as error:
        if error.errno == errno.EIO and stat.S_ISCHR(os.fstat(descriptor).st_mode):  # the terminal was closed
            nobody_reads(sys.stdout)
            return
        message = f"standard output cannot be written: {error.strerror}"
        raise ResultNotWritten(message, "free space or redirect it elsewhere") from error


def writable(path: str, option: str = "--output") -> None:
    """Find out before the run that its result can be written. Raises BadInput, whatever is wrong: nothing ran."""
    try:
        written_files.check(Path(path))
    except OSError as error:
        raise BadInput(_refusal(path, error, option), "name another file") from error


def ready_for_files(folder: str, option: str = "--charts") -> None:
    """Make the folder that an option names, and find out before the work that files can be written there. Raises
    BadInput."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        written_files.check(Path(folder) / "chart.svg")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{option} {folder} cannot be written: {why}", "name another folder") from error


def ready_to_deliver() -> None:
    """Find out before the work that the result can be written in every form that is asked for. Raises BadInput."""
    for one in deliveries.every():
        if one.output:
            writable(one.output)


def deliver_each(render: Callable[[str, Look], str], late: str = "") -> None:
    """The result in every form that is asked for; one that cannot be written costs no other. Raises BadInput,
    ResultNotWritten."""
    failed: NccltoolError | None = None
    for one in deliveries.every():
        try:
            deliver(render(one.form, look_of(one.output)), one.output, late)
        except NccltoolError as error:
            failed = failed or error
    if failed:
        raise failed


def deliver(text: str, output: str | None, late: str = "") -> None:
    """The result: into the file of --output, else to standard output. Raises BadInput, ResultNotWritten."""
    if output:
        write_file(output, text.encode(errors="replace"), late=late)  # whatever the locale's encoding is
    else:
        put(text)


def again(command: str) -> str:
    """The remedy where only the result was not written."""
    return f"name a file in another folder, without measuring again: {command}"


def write_file(path: str, data: bytes, option: str = "--output", late: str = "") -> None:
    """What an option is to write; `late`: the remedy where it could be written before the work. Raises BadInput,
    ResultNotWritten."""
    try:
        written_files.put(Path(path), data)
    except OSError as error:
        if error.errno in _WHILE_WRITING:
            raise ResultNotWritten(_refusal(path, error, option), "free space or name another file") from error
        if late:
            raise ResultNotWritten(_refusal(path, error, option), late) from error
        raise BadInput(_refusal(path, error, option), "name another file") from error


_WHILE_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.ENXIO)
"""The disk is full or broken, or nobody reads from the pipe: another name would not have helped before."""


def _refusal(path: str, error: OSError, option: str) -> str:
    return f"{option} {path} cannot be written: {error.strerror}"
