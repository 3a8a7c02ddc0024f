"""The one way to run a short external command: argv, a deadline, and what came of it as a value."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.core.unknown import Unknown

_LONGEST = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A command that ended by itself."""

    code: int
    """Negative: the signal that ended it."""
    out: str
    err: str


def run(
    argv: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None, longest: int = _LONGEST
) -> Done | Unknown:
    """Run a command without a shell. Unknown: it could not be started, or it took too long and was killed.

    `longest`: bytes of what it prints that are kept.
    """
    said = " ".join(argv[:3])
    try:
        done = subprocess.run(
            argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Unknown(f"`{said}` took longer than {timeout_s:g} s")
    except (OSError, ValueError) as error:
        return Unknown(f"`{said}` cannot be started: {error}")
    out, err = (stream[:longest].decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
    return Done(code=done.returncode, out=out, err=err)
