"""Small things about processes that Python does not have."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

GONE_S = 3.0
"""How long to wait for killed processes to disappear; one in an uninterruptible driver call may take longer."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def age_s() -> float:
    """Seconds since this process was started; 0: the kernel does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, so that nothing is ever left behind."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Callable[[], int]) -> int:
    """The pid of a child that does this work, ends with its code, and dies with us."""
    parent = os.getpid()
    if pid := os.fork():
        return pid
    code = 1
    try:
        die_with_parent(parent)
        code = min(abs(work()), 255)
    except Exception:  # noqa: BLE001 - whatever it is, its end is the evidence: _exit would not print it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # not sys.exit: freeing a process group can deadlock at exit (threads joined while holding the GIL)
        os._exit(code)


def write_lines_at_once() -> None:
    """Have C libraries write each line to standard output when it is whole, though it is a pipe.

    NCCL logs there without flushing: what it wrote before an abort would be lost in the buffer.
    """
    libc = ctypes.CDLL(None)
    libc.setlinebuf(ctypes.c_void_p.in_dll(libc, "stdout"))


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


def end_all(started: Sequence["subprocess.Popen[bytes]"], asking: signal.Signals, patience_s: float) -> None:
    """End processes that lead groups: ask them by a signal if there is patience, then kill what is left."""
    asked = [process for process in started if patience_s and process.poll() is None]
    for process in asked:
        process.send_signal(asking)
    end = time.monotonic() + patience_s
    for process in asked:
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
    for process in started:
        end_group(process.pid, GONE_S)
        process.poll()


def start_nccltool(
    words: Sequence[str], env: Mapping[str, str], out: int | None = None, err: IO[bytes] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a command of our own in a session of its own, which dies with us."""
    us = os.getpid()
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "nccltool", *words],
        env=package_environment(env),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
        preexec_fn=lambda: _begin(us),
    )


def _begin(parent: int) -> None:
    """In the new process: it must hear SIGINT, also where nohup or a shell's & had us not hear it."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def package_environment(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python finds the nccltool that this process is of, wherever that was found."""
    here = str(Path(__file__).parents[2])
    return {**env, "PYTHONPATH": os.pathsep.join([here, *filter(None, [env.get("PYTHONPATH")])])}


STOPPED = ("T", "t")
"""States of what SIGSTOP or a debugger has stopped."""


def children(pid: int | None = None) -> list[int]:
    """Processes whose parent that one is, or this one, orphans that it adopted among them."""
    found: list[int] = []
    for file in Path(f"/proc/{pid or 'self'}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found += map(int, file.read_text().split())
    return found


def state(pid: int) -> str:
    """R, S, D, T (stopped), Z as in /proc/<pid>/stat; '' when it cannot be read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def sockets(pid: int) -> set[int]:
    """The inodes of its open sockets; none where they cannot be read."""
    found = set[int]()
    with contextlib.suppress(OSError):  # it has ended, or is another user's
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                target = f"{file.readlink()}"
                if target.startswith("socket:["):
                    found.add(int(target[len("socket:[") : -1]))
    return found


def descriptors(pid: int) -> int | None:
    """How many files, pipes, and sockets a process has open; None = it has ended, or is another user's."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return None


def scheduled_ns(pid: int, thread: int) -> tuple[int, int] | None:
    """How long a thread ran, and how long it could have run, but had no core, or no quota left; None = it has
    ended, or the kernel does not tell."""
    try:
        ran, queued, *_ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
        return int(ran), int(queued)
    except (OSError, ValueError):
        return None


def threads(pid: int) -> tuple[int, ...]:
    """The threads of a process; () = it has ended, or is another user's."""
    try:
        return tuple(sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return ()


def name(pid: int) -> str:
    """What a process is called, at most 15 characters; `?` when it is gone, or another container's."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return "?"


def signal_name(number: int) -> str:
    """`SIGKILL`; also of one that has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def peak_rss_bytes() -> int | None:
    """Most memory of this process that was resident at once; None when it cannot be read."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else None


def resident_bytes() -> int | None:
    """Memory of this process that is resident now; None when it cannot be read."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def give_back_free_memory() -> None:
    """Have the C library return what libraries have freed, so that steps do not add up. Not on musl."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
