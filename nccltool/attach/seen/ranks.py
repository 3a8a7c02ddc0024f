"""Who belongs to a job: its ranks, its launcher's processes, and ranks that are no longer there."""

from dataclasses import dataclass
from typing import Literal

KnownBy = Literal["environ", "scheduler", "ancestor", "libraries", "pid"]
"""How a rank was recognized: by its variables, those of its launcher, those of a process above it, the libraries
that it has loaded, or the pid that the user named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFound:
    """One rank of a job on one host, as its process says it; None = it does not say."""

    host: str
    pid: int
    """In the pid namespace of who looks."""
    inner_pids: tuple[int, ...] = ()
    """NSpid of /proc/PID/status, outermost first: the last one is what the rank calls itself."""
    rank: int | None = None
    world_size: int | None = None
    local_rank: int | None = None
    local_world_size: int | None = None
    node_rank: int | None = None
    job: str = ""
    """Ranks with the same text belong together: the elastic run, or the master's address, with the user."""
    launcher: str = ""
    """torchrun, slurm, mpi, kubernetes, ray; empty = not known."""
    restarts: int | None = None
    """Which attempt this is: TORCHELASTIC_RESTART_COUNT."""
    known_by: KnownBy = "environ"
    user: str = ""
    program: str = ""
    """The script or module that it runs, without its arguments."""
    started_at_s: float | None = None
    """Seconds since 1970."""
    agent_pid: int | None = None
    master: str = ""
    """HOST:PORT of the store."""
    addresses: tuple[str, ...] = ()
    """Of the host, as the rank's network namespace has them."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables of the rank that say where to look: only those of `find.variables.LOOKED_AT`."""

    def setting(self, *names: str) -> str:
        """The first of these variables that is set; otherwise an empty text."""
        of = dict(self.settings)
        return next((of[name] for name in names if name in of), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentFound:
    """What started ranks on a host: torchrun's agent, a Slurm step, mpirun, or a shell."""

    host: str
    pid: int
    job: str
    command: str
    """Its name: torchrun, slurmstepd, orted."""
    children: tuple[int, ...]
    local_world_size: int | None = None
    """How many ranks it should have, when it says so."""
    state: str = ""
    """Letter of /proc/PID/status in the last sample; empty = not known. A stopped agent's store answers nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankGone:
    """A rank that ended while its job goes on, and what it left."""

    host: str
    rank: int | None = None
    pid: int | None = None
    how: str
    """`zombie`, `ended` (between two samples), `error file`, `kernel log`."""
    text: str = ""
    """Of its error file or of the kernel, one line."""
    at_s: float | None = None
    """Seconds since 1970."""
