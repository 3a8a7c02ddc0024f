"""The process that an environment is of: what it has changed, and its communicators."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.sources import env
from nccltool.hosts.sources.base import CAPTURED, Tree

LIVE = Tree.at(Path("/"))
_THREADS = """
import ctypes, sys, threading
def named():
    ctypes.CDLL(None).prctl(15, b"NCCL Service  0", 0, 0, 0)  # PR_SET_NAME
    ready.wait()
    sys.stdin.read()
ready = threading.Barrier(4)
for _ in range(3):
    threading.Thread(target=named).start()
ready.wait()
print("ready", flush=True)
"""


@pytest.fixture
def three() -> Iterator[int]:
    """A process with three threads that are called as NCCL calls those of communicators."""
    command = [sys.executable, "-c", _THREADS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        assert child.stdout.readline() == b"ready\n"
        yield child.pid
        child.stdin.close()


def test_communicators_are_counted(three: int) -> None:
    assert env.communicators(LIVE, f"pid {three}") == 3


def test_a_process_without_such_threads() -> None:
    found = env.communicators(LIVE, f"pid {os.getpid()}")
    assert isinstance(found, Unknown)
    assert "NCCL_SET_THREAD_NAME" in found.reason


@pytest.mark.parametrize("source", ["job.env", "pid x", "pid", "/proc/self/environ", ""])
def test_a_file_is_no_process(source: str) -> None:
    assert env.communicators(LIVE, source) == Unknown(f"{source} is not a process")


def test_a_process_that_is_gone() -> None:
    assert isinstance(env.communicators(LIVE, "pid 4194305"), Unknown)


def test_a_captured_tree_has_no_threads(tmp_path: Path) -> None:
    assert env.communicators(Tree.at(tmp_path), "process") == Unknown(CAPTURED)


def test_what_was_changed(tmp_path: Path) -> None:
    environ = tmp_path / "proc/7/environ"
    environ.parent.mkdir(parents=True)
    environ.write_bytes(b"NCCL_ALGO=Ring\0NCCL_GONE=1\0NCCL_DEBUG=WARN\0PATH=/bin\0RANK=0\0")
    now = {"NCCL_ALGO": "Tree", "NCCL_DEBUG": "WARN", "NCCL_NEW": "1", "RANK": "1"}
    assert env.changed(Tree.at(tmp_path), now, "7", itself=True) == ("NCCL_ALGO", "NCCL_GONE", "NCCL_NEW")


@pytest.mark.parametrize(("pid", "itself"), [(None, True), ("7", False)])
def test_what_others_changed_is_not_known(pid: str | None, itself: bool) -> None:
    assert isinstance(env.changed(LIVE, {}, pid, itself=itself), Unknown)


def test_a_misspelled_prefix_passes() -> None:
    given = {
        "NCLL_DEBUG": "INFO",
        "UXC_TLS": "tcp",
        "NCLL_TOKEN": "x",
        "HCCL_SOCKET_IFNAME": "eth0",
        "NCXL_A": "1",
    }
    assert env.chosen(given) == {"NCLL_DEBUG": "INFO", "UXC_TLS": "tcp"}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("http://proxy:3128", "http://proxy:3128"),
        ("http://me:pa@ss/w@proxy:3128", "http://proxy:3128"),
        ("me:pass@proxy:3128", "proxy:3128"),
        ("", ""),
    ],
)
def test_a_password_of_a_proxy_is_not_kept(value: str, kept: str) -> None:
    assert env.chosen({"http_proxy": value, "VLLM_API_KEY": "x"}) == {"http_proxy": kept}
