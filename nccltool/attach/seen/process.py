"""One process at one moment: what /proc, its cgroup, its sockets, and its stacks show."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class StackFrame:
    """One function on a stack, as py-spy reports it."""

    name: str
    file: str
    """Full name; that of the library for a native frame."""
    line: int | None = None
    text: str = ""
    """The line of source, where it could be read: calls of C functions, such as `work.wait()`, show only there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadStack:
    """The stack of one thread, innermost frame first."""

    pid: int
    """Of its process: that of a rank or of one of its children."""
    name: str
    """Of the thread, e.g. MainThread."""
    frames: tuple[StackFrame, ...]
    os_thread_id: int | None = None
    trains: bool = False
    """The main thread, unless that serves others."""
    active: bool | None = None
    """py-spy says that it runs; wrong for a process in another pid namespace."""
    owns_gil: bool | None = None
    is_native: bool = False
    """Taken with native frames: then an absent one means something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessState:
    """Counters of a process; None = not readable, see `Unread`. `main`: of the thread that trains."""

    pid: int
    name: str
    """comm of the process: python, pt_data_worker, ptxas."""
    state: str
    """Letter of /proc/PID/status: R, S, D, T, t, Z, X."""
    parent: int
    tracer_pid: int | None = None
    cpu_s: float | None = None
    """User and system time of all its threads."""
    main_cpu_s: float | None = None
    main_voluntary_switches: int | None = None
    main_involuntary_switches: int | None = None
    run_delay_s: float | None = None
    """How long that thread was ready and had no core (schedstat)."""
    read_bytes: int | None = None
    write_bytes: int | None = None
    rchar: int | None = None
    wchar: int | None = None
    waits_in: str = ""
    """wchan of that thread; empty = running or not readable."""
    syscall: str = ""
    """Number of the system call that it is in."""
    waits_on: str = ""
    """What the first argument of that call is, for a read, write, or fsync: the path of the file or pipe."""
    kernel_stack: tuple[str, ...] = ()
    """Of that thread, innermost first; only root may read it."""
    memory_bytes: int | None = None
    threads: tuple[str, ...] = ()
    """Names of its threads, each once."""
    threads_count: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CgroupState:
    """The cgroup of a process, all levels: a limit anywhere above holds it."""

    path: str
    version: Literal[1, 2]
    frozen: bool | None = None
    throttled: int | None = None
    """Periods in which it got no more CPU (cpu.stat nr_throttled), the highest of its levels."""
    throttled_s: float | None = None
    oom_kills: int | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    """None = no limit."""
    cpu_pressure: float | None = None
    """Share of the last 10 s in which some task waited for a core (PSI); 1 = always."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SocketSeen:
    """One TCP connection of a rank."""

    local: str
    """ADDRESS:PORT, an IPv6 address in brackets."""
    peer: str
    state: str
    """As in ss: ESTAB, SYN-SENT, LISTEN."""
    send_queue_bytes: int | None = None
    receive_queue_bytes: int | None = None
    last_sent_ms: int | None = None
    last_received_ms: int | None = None
    unacknowledged: int | None = None
    """Segments."""
    retransmissions: int | None = None
    """So far; rising = the peer does not answer."""
    backoff: int | None = None
    """How often its time-out was doubled."""
    bytes_sent: int | None = None
    bytes_received: int | None = None
