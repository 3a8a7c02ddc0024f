"""The kernel's messages that concern a job."""

import os
from collections.abc import Iterator

import pytest

from nccltool.attach.look import kernel_log
from nccltool.attach.seen.ranks import RankFound

_BOOT = 1000.0


@pytest.mark.parametrize(
    ("text", "kind", "pid"),
    [
        (
            "Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB",
            "oom-kill",
            4711,
        ),
        (
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task_memcg=/a,task=python,pid=4711,uid=0",
            "oom-kill",
            4711,
        ),
        ("NVRM: Xid (PCI:0000:07:00): 79, pid='4711', name=python, GPU has fallen off the bus.", "xid", 4711),
        ("NVRM: Xid (PCI:0000:07:00): 94, Contained: SM (0x1)", "xid", None),
        ("INFO: task python:4711 blocked for more than 122 seconds.", "hung-task", 4711),
        ("nfs: server fs1 not responding, still trying", "nfs", None),
        ("python[4711]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6", "segfault", 4711),
        ("mce: [Hardware Error]: Machine check events logged", "mce", None),
        ("mlx5_core 0000:07:00.0 eth2: Link down", "link", None),
        ("usb 1-1: new device", None, None),
    ],
)
def test_kinds(text: str, kind: str | None, pid: int | None) -> None:
    line = kernel_log.parsed(f"3,77,2500000,-;{text}\n SUBSYSTEM=pci\n", "n1", _BOOT)
    assert (line and line.kind, line and line.pid) == (kind, pid)
    if line:
        assert (line.text, line.at_s) == (text, _BOOT + 2.5)


@pytest.mark.parametrize("record", ["", ";", "a;b", "3,7,x,-;NVRM: Xid (PCI:0): 1", "\x00\xff"])
def test_damaged_records(record: str) -> None:
    assert kernel_log.parsed(record, "n1", _BOOT) is None


def test_older_lines_are_of_another_job() -> None:
    records = [f"3,{number},{number}000000,-;NVRM: Xid (PCI:0000:07:00): 79" for number in (10, 20, 30)]
    found = list(kernel_log.chosen(records, "n1", _BOOT + 15, _BOOT))
    assert [line.at_s for line in found] == [_BOOT + 20, _BOOT + 30]


def test_it_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "_FILE", "/no/such/file")
    lines, (unread,) = kernel_log.read([RankFound(host="n1", pid=1)], "n1")
    assert lines == ()
    assert (unread.what, unread.reason, unread.missing) == (
        "kernel log",
        "No such file or directory",
        "CAP_SYSLOG: run as root",
    )


def test_records_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading /dev/kmsg gives EAGAIN after the newest record, and EPIPE for one that was overwritten."""
    answers: Iterator[bytes | OSError] = iter(
        [b"3,1,1000000,-;NVRM: Xid (PCI:0000:07:00): 79", BrokenPipeError(), BlockingIOError()]
    )

    def read(handle: int, size: int) -> bytes:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(kernel_log, "_FILE", "/dev/null")
    monkeypatch.setattr(os, "read", read)
    assert len(list(kernel_log._records())) == 1
