"""What a process can see of itself."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from nccltool.core import processes


def test_this_process_is_running() -> None:
    assert processes.state(os.getpid()) == "R"


def test_this_process_has_an_age() -> None:
    program = "from nccltool.core import processes; import time; time.sleep(0.3); print(processes.age_s() >= 0.3)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"True\n"


def test_a_process_that_is_not_there() -> None:
    assert processes.state(2**30) == ""


def test_the_threads_of_a_process() -> None:
    mine = threading.get_native_id()
    assert mine in processes.threads(os.getpid())
    assert processes.scheduled_ns(os.getpid(), mine) is not None
    assert processes.threads(2**30) == ()
    assert processes.scheduled_ns(2**30, mine) is None


def test_the_peak_is_at_least_what_was_used() -> None:
    before = processes.peak_rss_bytes()
    block = bytearray(os.urandom(4096)) * 8192  # 32 MiB, all of it touched
    after = processes.peak_rss_bytes()
    assert before is not None
    assert after is not None
    assert after >= max(before, len(block))


def test_giving_memory_back_leaves_what_is_used() -> None:
    block = bytearray(b"x") * 2**20
    processes.give_back_free_memory()
    assert block.count(b"x") == 2**20


def test_the_end_of_a_group_that_is_not_there() -> None:
    assert processes.end_group(2**30, timeout_s=10.0)


@pytest.mark.parametrize(("call", "said"), [("write_lines_at_once()", "NCCL WARN why\n"), ("", "")])
def test_lines_of_c_libraries_outlive_an_abort(call: str, said: str) -> None:
    """NCCL writes its warnings to standard output and does not flush."""
    script = f"""
import ctypes, os
from nccltool.core.processes import write_lines_at_once
{call}
ctypes.CDLL(None).printf(b"NCCL WARN why\\n")
os.abort()
"""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(
        (sys.executable, "-c", script), stdout=subprocess.PIPE, env=environ, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (-signal.SIGABRT, said)
