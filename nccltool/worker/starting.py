"""Signs that a node process gets on while it imports: on a busy host or from a slow file system, that takes long.

One that hangs gives none: whoever waits for it counts from the last. Importing this imports nothing heavy.
"""

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

EACH_S = 2.0
"""Most are done before the first."""
LINE = b'\x1e{"event":"starting"}\n'
"""nccltool.launch.events.Starting, which is not imported yet."""
_LEAST_S = 0.1
"""Of a processor, or of waiting for one, in that time."""
_SCHEDULED = Path("/proc/self/schedstat")
"""Of the main thread: nanoseconds on a processor and, ready to run, without one."""


class Signs:
    """Tells while it is open."""

    def __init__(self, fd: int) -> None:
        self._fd, self._over = os.dup(fd), threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No process is forked while a thread runs."""
        self._over.set()
        self._thread.join(EACH_S)
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def _tell(self) -> None:
        modules, busy_s = progress()
        while not self._over.wait(EACH_S):
            before = modules, busy_s
            modules, busy_s = progress()
            if modules > before[0] or busy_s - before[1] > _LEAST_S:
                try:
                    os.write(self._fd, LINE)
                except OSError:  # the runner is gone
                    return


def progress() -> tuple[int, float]:
    """How many modules are imported, and how long this process was busy or waited for a processor."""
    try:
        on, ready = _SCHEDULED.read_text().split()[:2]
        return len(sys.modules), (int(on) + int(ready)) / 1e9
    except (OSError, ValueError):
        return len(sys.modules), time.process_time()
