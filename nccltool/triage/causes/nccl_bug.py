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
from typing import NamedTuple

from nccltool.triage.causes.base import FITS, HINT, Clue, Clues, Given, Offender, Timeline

DECIDES = "whether the job works with a newer NCCL"


class _Defect(NamedTuple):
    """A sign, the versions that have it, and what is known."""

    kind: str
    text: str
    since: tuple[int, int, int]
    before: tuple[int, int, int]
    why: str


_SHARED_MEMORY = "kernels before 2.26.2 need more shared memory than these GPUs have"
_WRONG_ID = "2.26 before 2.26.5 looks up NICs by a wrong id"
_REM_ALLOCATOR = "before 2.12 a helper process allocates GPU memory for others, which can fail"
_NVLINKS_OF_HOPPER = "before 2.15 NCCL does not know the NVLinks of Hopper GPUs"
_PAST_A_BUFFER = "2.18 and 2.19 write past a buffer with NVLS and dual-port NICs"
_TRUNCATED = "Message truncated : received 1024 bytes instead of 256"
_DEFECTS = (
    _Defect("nccl.shared-memory", "maxSharedMem", (2, 25, 0), (2, 26, 2), _SHARED_MEMORY),
    _Defect("topology.no-net-id", "NET with id", (2, 26, 0), (2, 26, 5), _WRONG_ID),
    _Defect("nccl.warning", "[Rem Allocator] Allocation failed", (2, 0, 0), (2, 12, 0), _REM_ALLOCATOR),
    _Defect("topology.no-graph", "reverse path from remNode", (2, 0, 0), (2, 15, 0), _NVLINKS_OF_HOPPER),
    _Defect("app.heap", "invalid next size", (2, 18, 0), (2, 20, 0), _PAST_A_BUFFER),
    _Defect(
        "nccl.warning",
        _TRUNCATED,
        (2, 0, 0),
        (2, 12, 0),
        "before 2.12 the InfiniBand setup has a defect",
    ),
)
SIGNS = {
    "app.nccl-crash": (0.75, "the process crashed inside NCCL"),
    "app.nccl-kernel": (0.85, "a kernel of NCCL writes or reads past its memory"),
}
SIGNS_OF_FAILURE = {
    "nccl.internal": (0.75, "a check inside NCCL failed"),
    "app.heap": (FITS, "the heap of a process was corrupted"),
    "app.segfault": (HINT, "a process crashed"),
}
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def clues(timeline: Timeline) -> Given:
    """Known defects, strangers at the ports, and NCCL's own words that something is impossible."""
    for defect in _DEFECTS if timeline.failed else ():
        shown = next((event for event in timeline.of(defect.kind) if defect.text in event.text), None)
        if shown and _has(timeline, defect):
            yield Clue(0.85, defect.why, shown)
    if event := timeline.first("nccl.wrong-magic"):
        name = stranger(event.get("magic"))
        known = f"a foreign process connected to NCCL's port ({name!r}), and NCCL did not recover"
        unknown = "a process outside this job connected"
        yield Clue(0.85, known, event) if name else Clue(FITS, unknown, event)
    if event := timeline.first("torch.nccl-error", "bench.failed", where=lambda e: "internal error" in e.text):
        yield Clue(0.3, "NCCL reported an internal error", event)


def _has(timeline: Timeline, defect: _Defect) -> bool:
    matches = filter(None, map(_NUMBERS.match, timeline.versions))
    versions = ((int(match[1]), int(match[2]), int(match[3] or 0)) for match in matches)
    return any(defect.since <= version < defect.before for version in versions)


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
        return Offender("library", min(timeline.versions))
    found = timeline.first("nccl.wrong-magic", "app.nccl-crash")
    if found and found.host:
        return Offender("host", found.host)
    known = clues.host_or_rank()
    if known is None or known.kind == "rank":
        return Offender("host", timeline.host_names[0]) if timeline.host_names else known
    return known
