"""What /proc says of a rank whose stack could not be read: a call on a file, a busy core, or sleep."""

from nccltool.attach.phases.result import Phase
from nccltool.attach.seen.process import ProcessState

BUSY = 0.5
"""Share of a core of the training thread, as in `match`."""
_READS = frozenset(("0", "17", "19", "63", "65", "67"))
_WRITES = frozenset(("1", "18", "20", "74", "75", "64", "66", "68", "82", "83"))
"""read, pread, readv; write, pwrite, writev, fsync, fdatasync, of x86-64 (asm/unistd_64.h) and of others
(asm-generic/unistd.h). `waits_on` is only there for a call of the host's own numbers, and no number is in both."""
UNREAD = "no stack of the thread that trains"


def phase_without_stack(process: ProcessState, cpu_share: float | None) -> Phase:
    """Only what is certain: a thread that sleeps may wait for ranks or for anything else."""
    path = process.waits_on
    if path.startswith("/") and not path.startswith("/dev/"):
        if process.syscall in _READS:
            return Phase(kind="loading", text=f"reads {path}", reason=UNREAD)
        if process.syscall in _WRITES:
            return Phase(kind="checkpoint", text=f"writes {path}", reason=UNREAD)
    if cpu_share is not None and cpu_share >= BUSY:
        return Phase(kind="unknown", text="uses a core (no stack)", reason=UNREAD)
    if cpu_share is not None and process.state in ("S", "D"):
        return Phase(kind="unknown", text="sleeps (no stack)", reason=UNREAD)
    return Phase(kind="unknown", text="unknown", reason=UNREAD)
