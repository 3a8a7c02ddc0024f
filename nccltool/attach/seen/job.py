"""A job, looked at on all its hosts: samples that are some time apart, and what could not be read."""

from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.attach.ras.client import RasAnswer
from nccltool.attach.seen.process import CgroupState, ProcessState, SocketSeen, ThreadStack
from nccltool.attach.seen.ranks import AgentFound, RankFound, RankGone
from nccltool.attach.seen.sources import (
    CounterValue,
    GpuState,
    InspectorSeen,
    KernelLine,
    LogSeen,
    RecorderSeen,
    StepLog,
    WorkerServerSeen,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """What could not be read."""

    what: str
    """`Python stack of rank 3 (pid 4711)`."""
    reason: str
    """One clause: `Permission denied`."""
    missing: str = ""
    """The right or the package that would help: `CAP_SYS_PTRACE, or run as user alice`."""
    host: str = ""
    pid: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankSample:
    """One rank at one moment."""

    pid: int
    process: ProcessState | None
    """None = its process is gone."""
    cgroup: CgroupState | None = None
    children: tuple[ProcessState, ...] = ()
    """Loader workers, compilers, and what else it started, all levels."""
    stacks: tuple[ThreadStack, ...] = ()
    """Of the rank and of its children."""
    sockets: tuple[SocketSeen, ...] | None = None
    """None = not readable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSample:
    """One host at one moment."""

    at_s: float
    """The host's monotonic clock: only differences on one host mean something."""
    wall_s: float
    """Seconds since 1970, the host's clock."""
    ranks: tuple[RankSample, ...]
    counters: tuple[CounterValue, ...] = ()
    gpus: tuple[GpuState, ...] = ()
    step_logs: tuple[StepLog, ...] = ()

    def of(self, pid: int) -> RankSample | None:
        return next((one for one in self.ranks if one.pid == pid), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class HostLook:
    """What was seen on one host."""

    host: str
    ranks: tuple[RankFound, ...]
    """Those of the first sample; pids that came later are not followed."""
    samples: tuple[HostSample, ...]
    """Two or more, oldest first; one says nothing about progress."""
    agents: tuple[AgentFound, ...] = ()
    gone: tuple[RankGone, ...] = ()
    recorders: tuple[RecorderSeen, ...] = ()
    """Taken after the last sample."""
    servers: tuple[WorkerServerSeen, ...] = ()
    inspectors: tuple[InspectorSeen, ...] = ()
    ras: tuple[RasAnswer, ...] = ()
    """Oldest first: one, or two that are some seconds apart."""
    kernel: tuple[KernelLine, ...] = ()
    logs: tuple[LogSeen, ...] = ()
    unread: tuple[Unread, ...] = ()
    cores: int | None = None
    took_s: float = 0
    """How long looking took, without the pause between samples."""
    own_cpu_s: float = 0
    """CPU time that looking cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EmptyHost:
    """A host all of whose processes were seen, and none is a rank of the job."""

    host: str
    reason: str
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobLook:
    """All that was seen of one job."""

    hosts: tuple[HostLook, ...]
    unreached: tuple[Unread, ...] = ()
    """Hosts that could not be looked at: their ranks are unknown, not missing."""
    empty: tuple[EmptyHost, ...] = ()

    def ranks(self) -> Iterator[tuple[HostLook, RankFound]]:
        for host in self.hosts:
            for rank in host.ranks:
                yield host, rank

    @property
    def world_size(self) -> int | None:
        """The one that most ranks name."""
        named = [rank.world_size for _, rank in self.ranks() if rank.world_size is not None]
        return max(set(named), key=named.count, default=None)
