"""A look never signals, stops, or writes to the job: strace sees each system call of the look and its children."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_JOB = """\
import sys, time
print("ready", flush=True)
def wait_for_nobody():
    time.sleep(600)
wait_for_nobody()
"""
_LOOK = """\
import sys
from nccltool.attach.look.here import look
from nccltool.attach.look.order import LookOrder
answer = look(LookOrder(pid=int(sys.argv[1]), interval_s=0.2))
assert answer.look is not None, answer.reason
stacks = [one for sample in answer.look.samples for rank in sample.ranks for one in rank.stacks]
names = [{frame.name for frame in one.frames} for one in stacks]
print(len(answer.look.samples), sum("wait_for_nobody" in one for one in names))
"""
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
_TOUCHES = ("ptrace", "process_vm_writev", "prlimit64", "setpriority", "sched_setaffinity", "ioprio_set")
_OPENED_TO_WRITE = re.compile(r'open(?:at)?\([^"]*"(?P<path>[^"]*)".*O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)')
_OWN = re.compile(r"^(?:/dev/null|/dev/tty|/tmp/|/proc/self/)")


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[int]:
    """A process that a launcher started as rank 0."""
    (tmp_path / "job.py").write_text(_JOB)
    env = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29999"}
    argv = [sys.executable, str(tmp_path / "job.py")]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.skipif(bool(os.geteuid()), reason="needs root: py-spy reads another process")
@pytest.mark.skipif(not shutil.which("py-spy", path=Path(sys.executable).parent), reason="needs py-spy")
def test_no_call_touches_the_job(rank: int, tmp_path: Path) -> None:
    traced = tmp_path / "calls"
    calls = ",".join((*_SIGNALS, *_TOUCHES, "open", "openat"))
    strace = ("strace", "-f", "-qq", "-e", f"trace={calls}", "-e", "signal=none", "-o", str(traced))
    argv = [*strace, sys.executable, "-c", _LOOK, str(rank)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 2\n"  # two samples, and the stack was read in both
    lines = traced.read_text().splitlines()
    assert any(f"/proc/{rank}/" in line for line in lines)
    touched = [
        line for line in lines if re.search(rf"\b(?:{'|'.join((*_SIGNALS, *_TOUCHES))})\((?:.*\b)?{rank}\b", line)
    ]
    assert touched == []
    assert [line for line in lines if "ptrace(" in line] == []
    written = {match["path"] for line in lines if (match := _OPENED_TO_WRITE.search(line))}
    assert {path for path in written if not _OWN.match(path) and "__pycache__" not in path} == set()
