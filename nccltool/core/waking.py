"""Has the kernel wake this process from SIGSTOP when there is something to read, or the other end is gone.

A process that is stopped sees neither, and would stay behind on its host for ever. Importing this imports nothing
heavy: it is the first thing that a node process does.
"""

import contextlib
import fcntl
import os
import signal


def when_readable(fd: int) -> None:
    """SIGCONT comes with each new data on a pipe or socket, and with its end."""
    with contextlib.suppress(OSError):  # a file, which has neither
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGCONT)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)


def no_more(fd: int) -> None:
    """SIGSTOP stops it again for as long as whoever sent it wants."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
