"""The command line. Importing this imports nothing: a signal that comes while click is imported is met."""

import atexit
import sys
from types import FrameType

from nccltool.core import signals

INTERRUPTED = 130
ENDED_EARLY = (3, INTERRUPTED)
"""Exit codes of a run that did not complete, or was interrupted."""


def main() -> None:
    """Interrupted is 130 from the first moment on, whatever is imported or done then."""
    came: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        came.append(number)
        sys.exit(INTERRUPTED)

    signals.take(end)
    try:
        from nccltool.cli.root import run

        run()
    except Exception:  # raised where the exit could not pass: Python 3.11 wraps it while a class is made
        if not came:
            raise
        sys.exit(INTERRUPTED)
    finally:  # the exit code is known, and a signal changes it no more
        signals.take(lambda *_: None)
        atexit.register(signals.ignore)
