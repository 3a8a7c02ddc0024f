"""This NCCL version, or software around it, has a known defect.

## Meaning
The log matches a reported defect, which a later version usually fixes, or one of NCCL's internal checks failed.

## Impact
The job hangs or fails although settings and hardware are right.

## Verify
    grep -h 'NCCL version' LOG | sort -u       # expected: a version newer than the one with the defect
    ss -ltnp | grep PID  # if NCCL's ports have foreign connections: find the scanner
    LD_PRELOAD=/path/to/newer/libnccl.so.2 COMMAND     # expected: works

## Causes
* Triage prints the defect and the affected versions.
* Metric scrapers or port scanners connect to NCCL's ports, and this version does not discard foreign connections.

## Fix
Install a newer NCCL (a drop-in replacement within a major version), or apply the workaround from the defect's
report. If foreign connections are the cause, exclude ephemeral ports from scans, or set NCCL_SOCKET_IFNAME to a
network that is not scanned. Blast radius: this job.

## Escalate
Open an issue at github.com/NVIDIA/nccl with the version, a log at NCCL_DEBUG=INFO, and a small reproducer.
"""

import re

from nccltool.triage.causes.base import FITS, HINT, Clue, Clues, Given, Offender, Timeline

DECIDES = "whether the job works with a newer NCCL"


SIGNS = {
    "app.nccl-crash": (0.75, "the process crashed inside NCCL"),
    "app.nccl-kernel": (0.85, "an NCCL kernel accesses memory out of bounds"),
}
SIGNS_OF_FAILURE = {
    "nccl.internal": (0.75, "a check inside NCCL failed"),
    "app.heap": (FITS, "the heap of a process was corrupted"),
    "app.segfault": (HINT, "a process crashed"),
}


def clues(timeline: Timeline) -> Given:
    """Foreign connections, and internal errors that NCCL reports; `defects` adds known defects."""
    if event := timeline.first("nccl.wrong-magic"):
        name = stranger(event.get("magic"))
        known = f"a foreign process connected to NCCL's port ({name!r}), and NCCL did not recover"
        unknown = "a process outside this job connected"
        yield Clue(0.85, known, event) if name else Clue(FITS, unknown, event)
    if event := timeline.first("torch.nccl-error", "bench.failed", where=lambda e: "internal error" in e.text):
        yield Clue(0.3, "NCCL reported an internal error", event)


def stranger(magic: str) -> str | None:
    """The text in eight bytes that should be NCCL's magic number: HTTP, SSH, TLS; None when it is no text."""
    digits = magic.removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{8,16}", digits):
        return None
    raw = int(digits, 16).to_bytes(8, "little").rstrip(b"\0")
    text = raw.decode("latin-1")
    if raw[:1] == b"\x16" and raw[1:2] == b"\x03":
        return "TLS"
    return text if len(raw) >= 4 and all(32 <= byte < 127 or byte in (10, 13) for byte in raw) else None


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The library by its version, which is what to change; a stranger at the port is met on a host."""
    if timeline.versions and not timeline.has("nccl.wrong-magic"):
        return Offender("library", min(timeline.versions).partition("-")[0])  # as its release is called
    found = timeline.first("nccl.wrong-magic", "app.nccl-crash")
    if found and found.host:
        return Offender("host", found.host)
    known = clues.host_or_rank()
    if known is None or known.kind == "rank":
        return Offender("host", timeline.host_names[0]) if timeline.host_names else known
    return known
