"""What hosts show beside processes: GPUs, counters, recorders, worker servers, logs, and the kernel's messages."""

from dataclasses import dataclass

from nccltool.triage.flight_recorder.dumps import RecorderDump


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuState:
    """A GPU at one moment; None = the driver does not tell."""

    index: int
    uuid: str = ""
    bus: str = ""
    vendor: str = ""
    utilization: float | None = None
    """Share of the last window with any kernel; 1 = always."""
    power_w: float | None = None
    power_limit_w: float | None = None
    clock_mhz: int | None = None
    highest_clock_mhz: int | None = None
    temperature_c: float | None = None
    slowed_by: tuple[str, ...] = ()
    """Reasons of the driver for lower clocks, without idle."""
    uncorrected_errors: int | None = None
    """Of ECC, since the driver started."""
    memory_bytes: int | None = None
    pids: tuple[int, ...] | None = None
    """Processes that compute on it, in the host's pid namespace."""
    links_up: int | None = None
    """NVLinks that are active."""
    links_down: int | None = None
    link_errors: int | None = None
    """Replays and recoveries of its NVLinks since the driver started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterValue:
    """A counter of the host's network; all traffic of the host counts."""

    device: str
    """An interface, an RDMA port as mlx5_0:1; empty = TCP."""
    name: str
    value: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStatus:
    """How far a rank is in a process group, by number of collective (pg_status)."""

    group: str
    description: str = ""
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None
    members: tuple[int, ...] = ()
    """Ranks of the world."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecorderSeen:
    """torch's flight recorder of one rank."""

    rank: int
    source: str
    """A file, or the address of a worker server."""
    written_at_s: float | None
    """Seconds since 1970."""
    stale: str = ""
    """Why it says nothing about now: older than the rank's process; empty = fresh."""
    groups: tuple[GroupStatus, ...] = ()
    dump: RecorderDump | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerServerSeen:
    """torch's control-plane server inside a rank."""

    pid: int
    address: str
    answers: bool
    """It answered ping."""
    gil_held: bool = False
    """ping answered and dump_traceback did not within its deadline: native code holds the GIL."""
    store_waits: int | None = None
    """Calls that wait for the store now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InspectorSeen:
    """The last finished operation of one rank in one communicator (NCCL Inspector)."""

    file: str
    pid: int
    communicator: str
    rank: int
    """In the communicator."""
    ranks: int
    operation: str
    number: int
    """coll_sn: how many operations have finished."""
    written_at_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelLine:
    """A line of the kernel's log that concerns a job."""

    host: str
    kind: str
    """`oom-kill`, `xid`, `nfs`, `hung-task`, `segfault`, `mce`, `link`."""
    text: str
    pid: int | None = None
    at_s: float | None = None
    """Seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogSeen:
    """What triage says of the end of a log that a rank or its agent writes to."""

    file: str
    pid: int
    root_cause: str
    confidence: float
    text: str
    """The first failure's line."""
    rank: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StepLine:
    """A line of a log that says how far training is."""

    step: int | None = None
    step_s: float | None = None
    """The time of a step, where the line states it."""
    at_s: float | None = None
    """The line's own time stamp; only differences within one log mean something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepLog:
    """The steps at the end of a log that a rank or its agent writes to."""

    file: str
    changed_at_s: float
    """Seconds since 1970."""
    lines: tuple[StepLine, ...]
    """Oldest first."""
