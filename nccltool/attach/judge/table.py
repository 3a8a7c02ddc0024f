"""The decision table: causes, what they need, and what to do next. Several rows may have a number."""

from dataclasses import dataclass

from nccltool.attach.judge.result import CauseName, Level


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionRow:
    """One cause of one observation."""

    number: int
    cause: CauseName
    level: Level
    """The highest that it may have."""
    needs_frozen: bool
    """Whether two equal samples are a condition."""
    next_steps: tuple[str, ...]
    rivals: tuple[str, ...] = ()
    rivals_of_first: tuple[str, ...] = ()
    """Of rank 0 only."""


def _row(
    number: int,
    cause: CauseName,
    level: Level,
    *next_steps: str,
    needs_frozen: bool = True,
    rivals: tuple[str, ...] = (),
    rivals_of_first: tuple[str, ...] = (),
) -> DecisionRow:
    return DecisionRow(
        number=number,
        cause=cause,
        level=level,
        needs_frozen=needs_frozen,
        next_steps=next_steps,
        rivals=rivals,
        rivals_of_first=rivals_of_first,
    )


_READ_LINES = "compare the lines of the program at which these ranks are; look for a condition on the rank"
ROWS = (
    _row(
        1,
        "dead",
        "high",
        "read the agent's log and the error file of the rank, then the kernel's log",
        needs_frozen=False,
    ),
    _row(
        2,
        "out-of-memory",
        "high",
        "compare the memory limit with the peak, and count loader workers and pinned memory",
        needs_frozen=False,
    ),
    _row(
        3,
        "stopped",
        "high",
        "find out who stopped it: a scheduler, a snapshot, or a user. To continue it: kill -CONT PID",
    ),
    _row(3, "frozen", "high", "find out who froze its cgroup: a container runtime, a scheduler, or a snapshot"),
    _row(3, "traced", "high", "ask whoever debugs this process to detach"),
    _row(
        4,
        "data-loader",
        "high",
        "look at the file or mount that the loader reads",
        rivals=("its data is slow for a moment, and comes back",),
    ),
    _row(5, "checkpoint-slow", "high", "measure the storage that it writes to", rivals=("a large checkpoint",)),
    _row(5, "checkpoint-stuck", "high", "look at the mount that it writes to, and at the server behind it"),
    _row(6, "order-mismatch", "high", _READ_LINES, rivals=("these operations belong to different groups",)),
    _row(7, "size-mismatch", "high", _READ_LINES, "check the shapes of the last batch"),
    _row(
        8,
        "own-code",
        "medium",
        "read the named line: evaluation, logging, or an exception handler that only this rank runs",
        rivals=("its batch takes longer, and it comes back",),
        rivals_of_first=("it does the extra work of rank 0, such as logging, and comes back",),
    ),
    _row(9, "network", "high", "look at the named port and at its peer: link state, switch, firewall"),
    _row(10, "gpu", "high", "drain the host and read its kernel log for Xid"),
    _row(
        11,
        "straggler",
        "high",
        "compare clocks, throttle reasons, PCIe width, and neighbors of this rank with those of others",
        needs_frozen=False,
    ),
    _row(
        11,
        "cpu-starved",
        "high",
        "look at the CPU limit of its cgroup, its cpuset, and other processes on its cores",
        needs_frozen=False,
    ),
    _row(12, "starting", "medium", "wait, and look again"),
    _row(12, "compiling", "medium", "wait, and look again; warm the compiler's cache before the job"),
    _row(13, "missing-rank", "high", "read the log of the agent that should have started it"),
    _row(13, "store", "medium", "check that the host of the store and its port are reachable"),
    _row(
        14,
        "nccl-connect",
        "medium",
        "check NCCL_SOCKET_IFNAME and the firewall between the hosts; nccltool doctor",
    ),
    _row(15, "group-deadlock", "high", "use the same order of groups on all ranks"),
    _row(16, "left-early", "high", "look for an exception before, or a data loader with fewer batches"),
    _row(17, "gil", "high", "take a stack with native frames of this rank: nccltool attach --native"),
    _row(18, "shared-storage", "medium", "check the mount and its server: NCCL is not the cause"),
)
BY_CAUSE = {row.cause: row for row in ROWS}
