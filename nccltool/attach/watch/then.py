"""The command of --then: words without a shell, with a deadline, and its exit code as a value."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.core.errors import BadInput

DEADLINE_S = 300.0
"""For the command: it may cancel a job and wait for that."""
_END_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ThenResult:
    """How the command ended."""

    code: int | None
    """None = it did not end by itself."""
    told: str
    """`scancel 4711` exited with code 0."""


def words(text: str) -> tuple[str, ...]:
    """The words of a command, quoted as in a shell. Raises BadInput where they name no program."""
    try:
        found = tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(f"--then {text[:80]!r}: {error}", "close the quotation mark") from error
    if not found or shutil.which(found[0]) is None:
        name = repr(found[0][:80]) if found else "an empty command"
        remedy = "name a program; a shell reads it only with --then \"sh -c '...'\""
        raise BadInput(f"--then: {name} cannot be run", remedy)
    return found


def carry_out(
    argv: Sequence[str], document: str, values: Mapping[str, str], deadline_s: float = DEADLINE_S
) -> ThenResult:
    """Run it with the document on its standard input; what it prints goes to standard error."""
    said = f"`{shlex.join(argv)[:120]}`"
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=sys.__stderr__,
            env={**os.environ, **values},
            start_new_session=True,
        )
    except OSError as error:
        return ThenResult(code=None, told=f"{said} cannot be started: {error.strerror}")
    try:
        process.communicate(document.encode(), timeout=deadline_s)
    except subprocess.TimeoutExpired:
        return ThenResult(code=None, told=f"{said} took longer than {deadline_s:g} s and was ended")
    finally:
        _end(process)
    return ThenResult(code=process.returncode, told=f"{said} exited with code {process.returncode}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """It and what it started in its group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_END_S)
