"""What one log tells about its job: ids, communicators, hosts, tests, times."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nccltool.triage.logs.base import CUT, UNREAD, WORDS, LogEvent
from nccltool.triage.timeline.job_course import DECISIVE

OF_ANY_TEXT = frozenset(
    {
        *("app.frame", "app.traceback", "shell.command", "torchrun.row", "nccl.version", "bench.command"),
        *("job.id", CUT, UNREAD, WORDS),
    }
)
"""Kinds of events that prose and programs contain too."""
_STARTS = ("nccl.version", "nccl.bootstrap", "nccl.init-start", "store.endpoint")
_ENDS = ("torchrun.exit", "mpi.exit", "job.exit", "job.cancelled", "job.time-limit", "job.preempted")
"""What launchers and schedulers say of a job that is over."""
_LENGTH = len("MM-DD HH:MM:SS")
_MOST = 4096
"""Communicators, hosts and ids of one log that are remembered."""


@dataclass(slots=True)
class _Members:
    """The ranks of a communicator that the lines show."""

    size: int
    ranks: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    @property
    def is_complete(self) -> bool:
        return 1 < self.size <= len(self.ranks)


@dataclass(slots=True)
class JobTraces:
    """Of one log, or of several that belong together."""

    jobs: set[str] = field(default_factory=set)
    """Numbers that a scheduler gave."""
    launches: set[str] = field(default_factory=set)
    """Ids of torchrun's rendezvous."""
    endpoints: set[str] = field(default_factory=set)
    """HOST:PORT of torchrun's rendezvous."""
    communicators: dict[str, _Members] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    begins_test: bool = False
    """The heading of nccl-tests, which only rank 0 prints."""
    times: tuple[str, str] | None = None
    """The first and the last that are named, as MM-DD HH:MM:SS: logs of a job can lack the year."""
    says: bool = False
    """It has lines of a job."""
    is_cut: bool = False
    ends_well: bool = False
    """The last of its ends was in order, and nothing failed behind it."""
    is_over: bool = False
    """A launcher or scheduler told its end, and no step is behind it."""
    begins: bool = False
    """Its ranks start here, before any step."""
    _steps: bool = False

    def add(self, event: LogEvent) -> None:
        """Take what an event tells."""
        self.says = self.says or event.kind not in OF_ANY_TEXT
        if event.host and len(self.hosts) < _MOST:
            self.hosts.add(_short(event.host))
        if event.time and len(when := event.time.partition(".")[0][-_LENGTH:]) == _LENGTH:
            first, last = self.times or (when, when)
            self.times = min(first, when), max(last, when)
        if event.role == "failure" or event.kind in DECISIVE:
            self.ends_well = event.kind in DECISIVE
        self.is_over = event.kind in _ENDS or (self.is_over and event.kind != "job.progress")
        self._steps = self._steps or event.kind == "job.progress"
        self.begins = self.begins or (event.kind in _STARTS and not self._steps)
        match event.kind:
            case "job.id":
                self._note(event)
            case "store.endpoint" if len(self.endpoints) < _MOST:
                self.endpoints.add(f"{event.get('host')}:{event.get('port')}")
            case "nccl.init-start" if event.get("id"):
                self._join(event)
            case "bench.begin" | "bench.header":
                self.begins_test = True
            case "log.cut" | "log.unread":
                self.is_cut = True

    def _note(self, event: LogEvent) -> None:
        for ids, name in ((self.jobs, "job"), (self.launches, "launch")):
            if event.get(name) and len(ids) < _MOST:
                ids.add(event.get(name))

    def _join(self, event: LogEvent) -> None:
        known = event.get("id") in self.communicators or len(self.communicators) < _MOST
        if known:
            members = self.communicators.setdefault(event.get("id"), _Members(int(event.get("nranks"))))
            members.ranks.add(str(event.rank))
            members.hosts.update([event.host] if event.host else [])

    def merge(self, other: "JobTraces") -> None:
        """Take what another log of the same job tells."""
        self.jobs |= other.jobs
        self.launches |= other.launches
        self.endpoints |= other.endpoints
        self.hosts |= other.hosts
        for name, members in other.communicators.items():
            own = self.communicators.setdefault(name, _Members(members.size))
            own.ranks |= members.ranks
            own.hosts |= members.hosts
        ends = [*(self.times or ()), *(other.times or ())]
        self.times = (min(ends), max(ends)) if ends else None
        self.begins_test |= other.begins_test
        self.ends_well = self.ends_well and other.ends_well
        self.is_over = self.is_over and other.is_over
        self.begins = self.begins and other.begins
        self.says |= other.says
        self.is_cut |= other.is_cut

    @property
    def complete(self) -> dict[str, set[str]]:
        """Communicators of which all ranks are here, with their hosts."""
        return {name: members.hosts for name, members in self.communicators.items() if members.is_complete}


def _short(host: str) -> str:
    """Without the domain, which some programs leave out; an address as it is."""
    name = host.partition(".")[0]
    return host if name.isdecimal() else name


def traced(events: Iterable[LogEvent], of: dict[str, JobTraces]) -> Iterator[LogEvent]:
    """The events, after what they tell was noted for their file."""
    for event in events:
        of.setdefault(event.file, JobTraces()).add(event)
        yield event
