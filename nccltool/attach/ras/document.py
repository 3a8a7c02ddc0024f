"""What one answer of RAS says: processes, communicators, counts of operations. The same for text and JSON."""

from dataclasses import dataclass
from typing import Literal

RasForm = Literal["text", "json"]
RasStatus = Literal["NOCOMM", "INIT", "RUNNING", "FINALIZE", "ABORT", "UNKNOWN"]
"""Of a rank in a communicator. NOCOMM: its process answered, and is no member any longer."""

ALL_OPERATIONS = "all"
"""Stands for the operation where NCCL counted all of them together: 2.24 and 2.25."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RasProcess:
    """A process, or one rank of a communicator; what NCCL did not say is None or empty."""

    rank: int | None = None
    """In its communicator: not the rank of the job."""
    host: str = ""
    """The address of its bootstrap interface."""
    pid: int | None = None
    """In its own PID namespace."""
    gpus: tuple[int, ...] = ()
    """CUDA's numbers."""
    nvml_gpus: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RasCount:
    """Ranks that have launched equally many operations of a kind. Launched is not finished."""

    operation: str
    count: int
    ranks: int
    members: tuple[RasProcess, ...] = ()
    """Text names the ranks of small sets only, so there may be fewer than `ranks`."""

    @property
    def is_complete(self) -> bool:
        return len(self.members) == self.ranks


@dataclass(frozen=True, kw_only=True, slots=True)
class RasStatusCount:
    """Ranks with the same status."""

    status: RasStatus
    ranks: int
    members: tuple[RasProcess, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RasError:
    """A failure that NCCL itself reported."""

    when: Literal["initialization", "asynchronous"]
    error: str
    ranks: int
    members: tuple[RasProcess, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RasMissing:
    """A rank of which the answer has no counts."""

    process: RasProcess
    unresponsive: bool
    """Its process sent nothing in this query: dead, stopped, or cut off. False: it has left the communicator."""
    considered_dead: bool = False
    """NCCL has given it up; this is never undone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RasCommunicator:
    """One communicator. Text describes only those with something to report."""

    hash: str
    """Sixteen hexadecimal digits: the same in every answer, in NCCL's log and in Inspector's files."""
    size: int | None
    missing: tuple[RasMissing, ...] = ()
    missing_ranks: int = 0
    """How many are missing; text may not name them all."""
    statuses: tuple[RasStatusCount, ...] = ()
    errors: tuple[RasError, ...] = ()
    counts: tuple[RasCount, ...] = ()
    """By operation, most launched first; text has only operations whose counts differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RasGroup:
    """A row of the text's table: communicators of the same shape and state."""

    number: int
    communicators: int
    nodes: int
    ranks_per_communicator: int
    ranks: int
    status: str
    errors: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RasDocument:
    """One answer to STATUS."""

    form: RasForm
    nccl_version: str
    communicators: tuple[RasCommunicator, ...] = ()
    communicator_count: int | None = None
    groups: tuple[RasGroup, ...] = ()
    """Text only."""
    processes: int | None = None
    """Of the job, as far as RAS reaches; text only."""
    dead: tuple[RasProcess, ...] = ()
    dead_processes: int = 0
    """How many processes NCCL has given up; those it could not describe are not in `dead`."""
    silent: tuple[RasProcess, ...] = ()
    """Processes that sent nothing in this query."""
    silent_processes: int = 0
    collection_s: float | None = None
    timeouts: int = 0
    repaired: bool = False
    """The comma that 2.28.7 and 2.28.9 omit was inserted."""
    not_understood: tuple[str, ...] = ()
    """The first lines of an unknown form, for bug reports."""

    @property
    def members(self) -> frozenset[tuple[str, int]]:
        """Host and pid of every process that it names."""
        everyone = [*self.dead, *self.silent]
        for one in self.communicators:
            everyone += [rank.process for rank in one.missing]
            parts: tuple[RasStatusCount | RasError | RasCount, ...] = (*one.statuses, *one.errors, *one.counts)
            everyone += [member for part in parts for member in part.members]
        return frozenset((one.host, one.pid) for one in everyone if one.host and one.pid is not None)


class NotRas(ValueError):
    """What was read is no document of RAS, or not a whole one; the message says why, in a clause."""
