"""What the look at a job says: its state, what each rank does, who waits for whom, and who holds it up."""

from dataclasses import dataclass
from typing import Literal

from nccltool.attach.judge.progress import NO_PROGRESS, JobProgress
from nccltool.attach.phases.result import Phase

KillBy = Literal["watchdog", "timeout"]
JobState = Literal["healthy", "slow", "hung", "starting", "ending", "unknown"]
CauseName = Literal[
    "dead",
    "out-of-memory",
    "stopped",
    "frozen",
    "traced",
    "data-loader",
    "checkpoint-slow",
    "checkpoint-stuck",
    "order-mismatch",
    "size-mismatch",
    "own-code",
    "network",
    "gpu",
    "straggler",
    "cpu-starved",
    "starting",
    "compiling",
    "missing-rank",
    "store",
    "nccl-connect",
    "group-deadlock",
    "left-early",
    "gil",
    "shared-storage",
]
Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
CONFIDENCE: dict[Level, float] = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""high: name it; medium: name it as likely, with its rival; low: list it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankNow:
    """One rank in the last sample."""

    host: str
    pid: int
    rank: int | None
    phase: Phase
    condition: str = ""
    """What /proc and its cgroup say beside the stack: `stopped (SIGSTOP)`, `frozen`, `dead`; empty = it runs."""
    moves: bool | None = None
    """Whether it did something between the samples; None = one sample, or not readable."""
    since_s: float | None = None
    """For how long it has been like this, at least."""
    cpu_share: float | None = None
    """Of its training thread, of one core."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A rank that waits for others."""

    rank: int
    group: str
    """Name or hash of the process group; empty = not known."""
    operation: str
    for_ranks: tuple[int, ...]
    """Members that have not come."""
    number: int | None = None
    """Of the operation in its group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Culprit:
    """A rank or host that holds the job up, or may."""

    cause: CauseName
    level: Level
    row: int
    """Of the decision table (`judge/table.py`)."""
    message: str
    """One clause: `rank 3 is stopped (SIGSTOP)`."""
    rank: int | None = None
    host: str = ""
    evidence: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    """What else it could be."""
    next_steps: tuple[str, ...] = ()

    @property
    def confidence(self) -> float:
        return CONFIDENCE[self.level]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseGroup:
    """Ranks that do the same, by phase, operation, and line."""

    phase: Phase
    condition: str
    ranks: tuple[int, ...]
    pids: tuple[tuple[str, int], ...]
    """Host and pid of each, where it has no rank."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowPart:
    """Where a slow job loses its time."""

    since_s: float | None
    """How long ago it became slow; None = not known."""
    rank: int | None
    """Whom the others wait for; None = nobody stands out."""
    phase: str
    """What that rank does, or most ranks where nobody stands out."""
    step_s: float | None = None
    usual_step_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AttachVerdict:
    """The answer."""

    state: JobState
    message: str
    """One sentence, without a full stop."""
    ranks: tuple[RankNow, ...] = ()
    groups: tuple[PhaseGroup, ...] = ()
    """Largest first."""
    waits: tuple[Wait, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    """Most certain first; those of level low are only listed."""
    missing: tuple[int, ...] = ()
    """Ranks that should be on the hosts that were looked at, and are not."""
    not_looked_at: int = 0
    """Ranks of the job on other hosts, of which nothing is known."""
    since_s: float | None = None
    """For how long nothing has moved, at least."""
    kill_in_s: float | None = None
    """From the last sample until the waits end, with the default time limit of the backend; None = not known."""
    kill_by: KillBy | None = None
    """What ends them: NCCL's watchdog ends the job; with Gloo, the calls that wait raise an error."""
    operations_per_s: float | None = None
    """Of the communicator that is fastest in it, from two answers of RAS."""
    progress: JobProgress = NO_PROGRESS
    slow: SlowPart | None = None
    """Of a job that is slow."""
    ras_would_help: bool = False
    """The job waits in NCCL, nobody is named for certain, and RAS has not been asked."""
    initializing: bool | None = None
    """Whether communicators of NCCL initialize; None = not known."""
    notes: tuple[str, ...] = ()
    """What the reader must not conclude, and what lowered the confidence."""
    lacking: tuple[str, ...] = ()
    """What would have helped and was not read."""
