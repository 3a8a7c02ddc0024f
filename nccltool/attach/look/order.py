"""What a host is asked to look at: the order that crosses to it, and the answer that comes back."""

from dataclasses import dataclass

from nccltool.attach.seen.job import EmptyHost, HostLook


@dataclass(frozen=True, kw_only=True, slots=True)
class RasQuery:
    """To ask NCCL's RAS: of a job that looks stuck, on one of its hosts, which answers for all."""

    initializing: bool | None
    """Whether communicators initialize; None = not known."""
    takes_risk: bool = False
    """Versions of NCCL that a query can crash are asked, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LookOrder:
    """How to look at one host."""

    pid: int | None = None
    """A process of the job, on this host."""
    job: str = ""
    """The job, as another host named it; empty = the only one."""
    program: str = ""
    """The script or module that the job runs; empty = any."""
    slurm_job: str = ""
    """The Slurm job of the ranks; empty = any."""
    samples: int = 2
    interval_s: float = 1.5
    """Between samples; counters move in a running job within that time (facts of /proc rates over 1.5 s)."""
    with_stacks: bool = True
    native: tuple[int, ...] = ()
    """Ranks whose native frames are read, which stops each for up to 2 s."""
    trust_pickle: bool = False
    asks: bool = False
    """Ranks are asked to write their flight recorder dumps, which changes files of the job: with consent only."""
    ras: RasQuery | None = None
    """Instead of samples."""
    is_pulse: bool = False
    """One sample without stacks, of the ranks that were found before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobHere:
    """A job that was found on a host."""

    job: str
    program: str
    ranks: int
    pid: int
    """Of one of its ranks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LookAnswer:
    """What a host answers: the look, or which jobs it could have been."""

    host: str
    look: HostLook | None = None
    jobs: tuple[JobHere, ...] = ()
    """All on this host that this user may see."""
    reason: str = ""
    """Why there is no look."""
    is_ambiguous: bool = False
    """Several jobs could have been meant."""
    empty: EmptyHost | None = None
    """All processes of the host were seen, and none is a rank of the job."""
