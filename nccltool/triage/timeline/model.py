"""What happened, as the causes look at it: hosts, ranks, communicators, and who failed first.

A missing line is evidence too: the rank that is not among those that time out, the communicator that never was
complete, the interface that is not named.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from nccltool.core.text import whole
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import CUT, UNREAD, LogEvent, Role
from nccltool.triage.timeline.exits import CollectiveTimeout, ProcessExit
from nccltool.triage.timeline.job_course import TESTS
from nccltool.triage.timeline.milestones import OddOneOut
from nccltool.triage.timeline.observed import ObservedCommunicator, ObservedHost
from nccltool.triage.timeline.stacks import ProcessStack, stacks_of
from nccltool.triage.timeline.trials import Contrast

NO_HOST = "?"
"""The host of what is known of some host, but not of which one."""


_OF_JOBS = frozenset({"nccl", "torch", "bench", "store", "gloo", "app", "torchrun", "hvd", "run", "mpi", "plugin"})
_WORKING = 2
"""Steps that a job cannot make without collectives that work."""
_LATE_STEP = 100
_OF_STEPS = re.compile(r"(?i)\b(?:step|iter)")


def _is_late_step(event: LogEvent) -> bool:
    """Whether the number of a step tells that many were done before it."""
    return (whole(event.get("step")) or 0) >= _LATE_STEP and _OF_STEPS.search(event.text) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """All that the causes look at."""

    events: Mapping[str, tuple[LogEvent, ...]]
    counts: Mapping[str, int]
    order: Mapping[str, int]
    """File -> its number."""
    hosts: Mapping[str, ObservedHost]
    communicators: tuple[ObservedCommunicator, ...]
    timeouts: tuple[CollectiveTimeout, ...]
    exits: tuple[ProcessExit, ...]
    environment: Mapping[str, tuple[str, ...]]
    world_size: int | None
    hung: LogEvent | None
    """The last line before a job stood still, as far as that can be seen."""
    processes: Mapping[tuple[str, int], int]
    """(host, pid) -> rank."""
    tasks_are_ranks: bool
    """The numbers that a launcher put before the lines are those of ranks, not of nodes."""
    recovered: bool
    """Whatever failed, a job then came to its end in order, without somebody having changed its settings."""
    contrasts: tuple[Contrast, ...]
    """What runs of one job prove that differ in one thing only."""
    odd: OddOneOut | None
    """Who alone had not reached the place in the program at which the others waited."""
    steps_before: int
    """Steps, rows of tests and answers of servers before the first failure."""
    lines_read: int
    words: frozenset[str] = frozenset()
    """Those of the logs, of long ones a sample; empty while logs are followed."""
    earlier: LogEvent | None = None
    """The first failure of an earlier run in the same log, where the last one decides."""

    def of(self, *kinds: str) -> tuple[LogEvent, ...]:
        """The events of these kinds, in their order."""
        found = [event for kind in kinds for event in self.events.get(kind, ())]
        return tuple(sorted(found, key=self.place)) if len(kinds) > 1 else tuple(found)

    def first(self, *kinds: str, where: Callable[[LogEvent], object] | None = None) -> LogEvent | None:
        """The first event of these kinds, for which `where` holds."""
        return next(filter(where, self.of(*kinds)), None)

    def part(self, kind: str, *kinds: str, name: str) -> Offender | None:
        """The first value that lines of these kinds have for a part (hca, gpu), as an offender of this kind."""
        event = self.first(*kinds, where=lambda e: e.get(name))
        return Offender(kind, event.get(name)) if event else None

    def first_part(self, kind: str, *kinds: str, name: str) -> Offender | None:
        """The same, of the first of these kinds that has one."""
        return next(filter(None, (self.part(kind, one, name=name) for one in kinds)), None)

    def host_named(self, *kinds: str) -> Offender | None:
        """The host of the first line of these kinds that tells its host."""
        event = self.first(*kinds, where=lambda e: e.host)
        return Offender("host", event.host) if event and event.host else None

    def has(self, *kinds: str) -> bool:
        """Whether there is one."""
        return any(kind in self.events for kind in kinds)

    def place(self, event: LogEvent) -> tuple[int, int]:
        """Where an event stands: events of one file can be compared."""
        return self.order[event.file], event.line

    def before(self, one: LogEvent, other: LogEvent) -> bool:
        """Whether one happened before the other: by their places in one file, else by their times."""
        if one.file == other.file or one.time is None or other.time is None:
            return self.place(one) < self.place(other)
        known = min(len(one.time), len(other.time))  # one may lack the year
        return one.time[-known:] < other.time[-known:]

    def earliest(self, events: Iterable[LogEvent]) -> LogEvent | None:
        """The event that happened before all others."""
        first: LogEvent | None = None
        for event in events:
            if first is None or self.before(event, first):
                first = event
        return first

    def failures(self) -> list[LogEvent]:
        """Everything that went wrong somewhere, echoes left out."""
        return self._with_role("failure")

    def troubles(self) -> list[LogEvent]:
        """Everything that went wrong somewhere; behind it, what followed elsewhere."""
        return [*self._with_role("failure"), *self._with_role("echo")]

    def _with_role(self, role: Role) -> list[LogEvent]:
        return sorted((event for event in self.everything() if event.role == role), key=self.place)

    def everything(self) -> Iterator[LogEvent]:
        return chain.from_iterable(self.events.values())

    @property
    def has_job(self) -> bool:
        """Whether anything of a job is there, rather than only commands that look at a host."""
        told = {event.family for event in self.everything()} & _OF_JOBS
        return bool(told) or self.has("job.progress", "job.stack", "job.nothing-more", "shell.rank-gpu")

    @property
    def ends_early(self) -> tuple[str, ...]:
        """The packed files whose last lines are missing."""
        return tuple(dict.fromkeys(event.file for event in self.of(CUT)))

    @property
    def unread(self) -> tuple[str, ...]:
        """Why files in a folder could not be read, each with its name."""
        return tuple(dict.fromkeys(event.text for event in self.of(UNREAD)))

    @property
    def stacks(self) -> tuple[ProcessStack, ...]:
        """Where processes stood, as somebody looked."""
        ranks = {str(pid): rank for (_, pid), rank in self.processes.items()} | self._ended
        return stacks_of(self.of("job.stack"), ranks, self.world_size)

    @property
    def _ended(self) -> dict[str, int]:
        """Process -> its rank, as the launcher of a job on one host tells how it ended."""
        if len(self.hosts) > 1 or (self.nodes or 1) > 1:
            return {}
        told = {one.event.get("pid"): one.local for one in self.exits if one.event.get("pid")}
        return {pid: local for pid, local in told.items() if local is not None}

    def killed_by(self, signal: int) -> list[ProcessExit]:
        return [ended for ended in self.exits if ended.signal == signal]

    @property
    def failed(self) -> bool:
        """Whether something went wrong that was not overcome."""
        wrong = any(event.role in ("failure", "echo") for event in self.everything())
        return self.hung is not None or (wrong and not self.recovered)

    def over_net_inside_a_host(self) -> LogEvent | None:
        """A connection over the network in a communicator of one host whose ranks have no other one."""
        alone = len(self.hosts) == 1 and all((made.nodes or 1) == 1 for made in self.communicators)
        whole = any(len(made.completed) == made.size or made.nodes == 1 for made in self.communicators)
        if not alone or not whole or any(name.startswith(("P2P", "SHM")) for name in self.transports):
            return None
        return self.first("nccl.channel", where=lambda e: e.get("via").startswith("NET/"))

    @property
    def tests_passed(self) -> bool:
        """Whether the log is that of tests, all of which passed."""
        return self.recovered and any(TESTS.search(event.text) for event in self.of("job.completed"))

    @property
    def networks_meet(self) -> bool:
        """Whether connections over a network are shown, rather than only its choice."""
        return any(name.startswith("NET/") for name in self.transports)

    @property
    def step_seconds(self) -> float | None:
        """The median time of the steps whose time is logged."""
        told = [
            (float(event.get("time")), event.get("unit")) for event in self.of("job.progress") if event.get("time")
        ]
        rates = (event for event in self.of("job.progress") if event.get("of") in ("iters", "it", "steps", "step"))
        told += [(1 / float(event.get("rate")), "s") for event in rates if float(event.get("rate") or 0) > 0]
        times = sorted(time / 1000 if unit == "ms" else time for time, unit in told)
        return times[len(times) // 2] if times else None

    @property
    def had_worked(self) -> bool:
        """Whether HCAs and collectives had worked before: then it was no matter of configuration."""
        many = any((timeout.sequence or 0) > 100 for timeout in self.timeouts)
        many = many or self.first("job.progress", where=_is_late_step) is not None
        return many or self.steps_before >= _WORKING or self.has("bench.row", "ib.port-error")

    def rank_of(self, event: LogEvent) -> int | None:
        """The rank that wrote a line: by its label, by the process, or by the task of the launcher."""
        if event.rank is not None:
            return event.rank
        where = event.host or event.get("ip")
        if where and (where, event.pid) in self.processes:
            return self.processes[where, event.pid or 0]
        if self.tasks_are_ranks:
            return event.task
        if self._one_host:
            return event.device
        return self._ended.get(str(event.pid)) if self.exits else None

    @property
    def _one_host(self) -> bool:
        """All ranks are on one host: NCCL's number of a GPU is that of its rank."""
        return len(self.hosts) == 1 and self.nodes == 1 and bool(self.communicators)

    def variable(self, name: str) -> str | None:
        """The value that the logs show for a variable of the environment."""
        return next(iter(self.environment.get(name, ())), None)

    def host_of(self, address: str) -> str | None:
        """The host whose lines name this address as its own."""
        return next((host.name for host in self.hosts.values() if address in host.addresses), None)

    @property
    def networks(self) -> frozenset[str]:
        """The networks that NCCL chose, over all hosts."""
        return frozenset(name for host in self.hosts.values() for name in host.networks)

    @property
    def transports(self) -> frozenset[str]:
        return frozenset(name for host in self.hosts.values() for name in host.transports)

    @property
    def host_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.hosts if name != NO_HOST)

    @property
    def nodes(self) -> int:
        """How many hosts the job has, as far as the logs tell."""
        return max([len(self.hosts), *(made.nodes or 0 for made in self.communicators)], default=0)

    @property
    def versions(self) -> frozenset[str]:
        """NCCL's versions, without the CUDA that they were built for."""
        return frozenset(version.partition("+")[0] for host in self.hosts.values() for version in host.versions)
