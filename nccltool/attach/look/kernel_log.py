"""The kernel's messages that concern a job: since it was started, and of a few kinds."""

import os
import re
import time
from collections.abc import Iterator, Sequence

from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import KernelLine

_FILE = "/dev/kmsg"
_RECORD = 8192
_MOST_RECORDS = 20_000
_SECONDS = 2.0
_MOST_LINES = 40
_LONGEST = 300
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("oom-kill", re.compile(r"(?:Killed process |oom-kill:.*\bpid=)(?P<pid>\d{1,9})")),
    ("xid", re.compile(r"NVRM: Xid \(PCI:[^)]*\): \d{1,4}(?:, pid='?(?P<pid>\d{1,9}))?")),
    ("gpu", re.compile(r"amdgpu .*(?:GPU reset|ring \S+ timeout|uncorrectable)")),
    ("hung-task", re.compile(r"task \S+:(?P<pid>\d{1,9}) blocked for more than \d+ seconds")),
    ("nfs", re.compile(r"nfs: server \S+ not responding")),
    ("segfault", re.compile(r"\S+\[(?P<pid>\d{1,9})\]: segfault at")),
    ("mce", re.compile(r"Machine check|mce: \[Hardware Error\]")),
    ("link", re.compile(r"(?:mlx5_core|bnxt_en|ice|efa)\b.*\b(?:Link down|link down|port module event)")),
)


def read(ranks: Sequence[RankFound], host: str) -> tuple[tuple[KernelLine, ...], tuple[Unread, ...]]:
    """Those after the oldest rank was started; none is said only where all could be read."""
    try:
        records = list(_records())
    except OSError as error:
        needs = "CAP_SYSLOG: run as root"
        return (), (Unread(what="kernel log", reason=error.strerror or str(error), missing=needs, host=host),)
    started = [rank.started_at_s for rank in ranks if rank.started_at_s is not None]
    return tuple(chosen(records, host, min(started, default=0.0), time.time() - time.clock_gettime(_BOOT))), ()


_BOOT = time.CLOCK_BOOTTIME


def chosen(records: Sequence[str], host: str, since_s: float, boot_s: float) -> Iterator[KernelLine]:
    """The newest of interest. `boot_s`: seconds since 1970, when the kernel started."""
    found = [line for record in records if (line := parsed(record, host, boot_s)) is not None]
    yield from [line for line in found if line.at_s is None or line.at_s >= since_s][-_MOST_LINES:]


def parsed(record: str, host: str, boot_s: float) -> KernelLine | None:
    """`6,1234,98765432,-;NVRM: Xid (PCI:0000:07:00): 79, ...` (Documentation/ABI/testing/dev-kmsg)."""
    head, sign, rest = record.partition(";")
    parts = head.split(",")
    if not sign or len(parts) < 3 or not parts[2].isdecimal():
        return None
    text = rest.split("\n", 1)[0][:_LONGEST]
    for kind, pattern in _KINDS:
        if match := pattern.search(text):
            pid = match.groupdict().get("pid")
            at_s = boot_s + int(parts[2][:18]) / 1e6
            return KernelLine(host=host, kind=kind, text=text, pid=int(pid) if pid else None, at_s=at_s)
    return None


def _records() -> Iterator[str]:
    """All that the kernel still has. Raises OSError."""
    handle = os.open(_FILE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    end = time.monotonic() + _SECONDS
    try:
        for _ in range(_MOST_RECORDS):
            if time.monotonic() > end:
                return
            try:
                yield os.read(handle, _RECORD).decode(errors="replace")
            except BlockingIOError:  # the newest was read
                return
            except BrokenPipeError:  # overwritten meanwhile: the next read is at the oldest that is left
                continue
    finally:
        os.close(handle)
