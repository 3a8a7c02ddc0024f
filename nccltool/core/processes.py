"""Small things about processes that Python does not have."""

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, so that nothing is ever left behind."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose own parent dies, so that they can be waited for."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_group(group: int, timeout_s: float) -> bool:
    """Kill a process group and wait until nothing of it is left; False when the time did not suffice.

    Needs `adopt_orphans`. A process inside an uninterruptible driver call only ends when that returns.
    """
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return True
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)
    return False


def children() -> list[int]:
    """Processes whose parent this one is, orphans that it adopted among them."""
    found: list[int] = []
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found += map(int, file.read_text().split())
    return found


def state(pid: int) -> str:
    """R, S, D, T (stopped), Z as in /proc/<pid>/stat; '' when it cannot be read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def peak_rss_bytes() -> int | None:
    """Most memory of this process that was resident at once; None when it cannot be read."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else None


def give_back_free_memory() -> None:
    """Have the C library return what libraries have freed, so that steps do not add up. Not on musl."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
