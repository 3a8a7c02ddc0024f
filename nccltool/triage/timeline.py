"""What happened, put together from the events of all logs: hosts, ranks, communicators, and who failed first.

A missing line is evidence too: the rank that is not among those that time out, the communicator that never was
complete, the interface that is not named. Everything is kept in bounded space, whatever the size of the logs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from nccltool.triage.logs.base import LogEvent

_KEPT = 64
"""Events of one kind that are kept for each host, or each rank where the host is not known."""
_KEPT_OF_ALL = 512
_ENDINGS = (
    "job.sigterm",
    "job.terminated",
    "torchrun.sigterm",
    "store.closed",
    "job.interrupted",
    "nccl.peer-closed",
    "gloo.peer-closed",
)
"""Failures that follow the end of a job, when the processes around it are ended too."""
_DECISIVE = ("bench.average", "torchrun.succeeded", "job.completed", "job.done")
"""Kinds of events that say that a whole job came to its end in order."""
_NO_HOST = "?"
"""The host of what is known of some host, but not of which one."""
_STEPS_ON = 3
"""Steps of training behind a failure that say that it ended nothing: ranks that do not know of it make fewer."""
_DEADLY = (
    "torch.timeout",
    "torch.down",
    "torch.stuck",
    "job.exit",
    "mpi.exit",
    "torchrun.exit",
    "torchrun.failed",
)
"""Failures that no process survives: steps behind them are those of other ranks, unless the job was restarted."""
_RESTARTS = ("torchrun.restart", "torchrun.joined")
_ENDS = ("torchrun.exit", "torchrun.failed", "mpi.exit", "job.exit")


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveTimeout:
    """A collective that a rank gave up waiting for."""

    rank: int | None
    group: str
    sequence: int | None
    op: str
    size: str
    event: LogEvent

    @property
    def call(self) -> tuple[str, str]:
        """What the rank was in: ranks of one collective must agree."""
        return self.op, self.size


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessExit:
    """How a process ended."""

    rank: int | None
    host: str | None
    code: int | None
    signal: int | None
    first: bool
    event: LogEvent
    local: int | None = None
    """The number of the process on its host, where the rank is not said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedHost:
    """What one host's lines say about it."""

    name: str
    ranks: tuple[int, ...] = ()
    versions: tuple[str, ...] = ()
    driver: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    hcas: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    transports: Mapping[str, int] = field(default_factory=dict)
    """P2P/CUMEM, SHM, NET/IB/GDRDMA, NET/Socket ...: how many connections."""
    gdr_hcas: tuple[str, ...] = ()
    gdr_hcas_off: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedCommunicator:
    """What the lines say about one communicator."""

    id: str
    size: int
    started: frozenset[int]
    completed: frozenset[int]
    nodes: int | None = None
    gpus: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """(host, bus id) -> ranks on it."""


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
    lines_read: int

    def of(self, *kinds: str) -> tuple[LogEvent, ...]:
        """The events of these kinds, in their order."""
        found = [event for kind in kinds for event in self.events.get(kind, ())]
        return tuple(sorted(found, key=self.place)) if len(kinds) > 1 else tuple(found)

    def first(self, *kinds: str) -> LogEvent | None:
        """The first event of these kinds."""
        return next(iter(self.of(*kinds)), None)

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
        return (
            one.time[-min(len(one.time), len(other.time)) :] < other.time[-min(len(one.time), len(other.time)) :]
        )

    def earliest(self, events: Iterable[LogEvent]) -> LogEvent | None:
        """The event that happened before all others."""
        first: LogEvent | None = None
        for event in events:
            if first is None or self.before(event, first):
                first = event
        return first

    def failures(self) -> tuple[LogEvent, ...]:
        """Everything that went wrong somewhere, echoes left out."""
        return self._with_role("failure")

    def echoes(self) -> tuple[LogEvent, ...]:
        """Consequences of what went wrong elsewhere."""
        return self._with_role("echo")

    def _with_role(self, role: str) -> tuple[LogEvent, ...]:
        found = [event for events in self.events.values() for event in events if event.role == role]
        return tuple(sorted(found, key=self.place))

    @property
    def failed(self) -> bool:
        """Whether something went wrong that was not overcome."""
        wrong = any(event.role in ("failure", "echo") for events in self.events.values() for event in events)
        return self.hung is not None or (wrong and not self.recovered)

    def rank_of(self, event: LogEvent) -> int | None:
        """The rank that wrote a line: by its label, by the process, or by the task of the launcher."""
        if event.rank is not None:
            return event.rank
        if event.host is not None and (event.host, event.pid) in self.processes:
            return self.processes[event.host, event.pid or 0]
        return event.task if self.tasks_are_ranks else None

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
    def host_names(self) -> tuple[str, ...]:
        """The hosts that lines name."""
        return tuple(name for name in self.hosts if name != _NO_HOST)

    @property
    def nodes(self) -> int:
        """How many hosts the job has, as far as the logs tell."""
        return max([len(self.hosts), *(made.nodes or 0 for made in self.communicators)], default=0)

    @property
    def versions(self) -> frozenset[str]:
        """NCCL's versions, without the CUDA that they were built for."""
        return frozenset(version.partition("+")[0] for host in self.hosts.values() for version in host.versions)


class TimelineBuilder:
    """Takes events as they come, and tells the timeline so far."""

    def __init__(self) -> None:
        self._events: dict[str, list[LogEvent]] = {}
        self._counts: Counter[str] = Counter()
        self._kept: Counter[tuple[str, str | int | None]] = Counter()
        self._order: dict[str, int] = {}
        self._hosts: dict[str, _Host] = {}
        self._communicators: dict[str, _Communicator] = {}
        self._environment: dict[str, dict[str, None]] = {}
        self._hosts_of_labels: dict[tuple[str, str], str] = {}
        self._unplaced: list[LogEvent] = []
        self._last_failure: tuple[int, int] | None = None
        self._last_success: tuple[int, int] | None = None
        self._changed_since: bool = False
        self._steps_since: set[str] = set()
        self._deadly: bool = False
        self._world: Counter[int] = Counter()
        self._processes: dict[tuple[str, int], int] = {}
        self._tasks: set[int] = set()
        self._tasks_differ: bool = False
        self._names: dict[tuple[str, str, str], str] = {}
        self._open_test: LogEvent | None = None
        self._hung: LogEvent | None = None

    def add(self, event: LogEvent) -> None:
        """Take one event."""
        if event.repeats:
            self._counts[event.kind] += event.repeats
            if event.host:
                self._hosts.setdefault(event.host, _Host()).add(event)
            return
        number = self._order.setdefault(event.file, len(self._order))
        self._counts[event.kind] += 1
        self._follow(event, (number, event.line))
        self._watch(event)
        self._attribute(event)
        if event.kind in ("nccl.env", "shell.env"):
            self._environment.setdefault(event.get("name"), {})[event.get("value")] = None
        if event.role == "state":
            self._state(event)
        key = (event.kind, event.host or event.rank)
        if self._kept[key] < _KEPT and len(self._events.get(event.kind, ())) < _KEPT_OF_ALL:
            self._kept[key] += 1
            self._events.setdefault(event.kind, []).append(event)

    def _follow(self, event: LogEvent, place: tuple[int, int]) -> None:
        if event.role in ("failure", "echo"):
            if event.kind not in _ENDINGS or self._last_success is None:
                self._last_failure, self._changed_since = place, False
                self._steps_since.clear()
                self._deadly = self._deadly or event.kind in _DEADLY
        elif event.kind in _DECISIVE:
            if not self._changed_since:
                self._last_success = place
        elif event.kind == "job.progress" and self._last_failure and self._last_failure[0] == place[0]:
            if not self._deadly and len(self._steps_since) < _STEPS_ON:
                self._steps_since.add(event.get("step") or event.text[:80])
        elif event.kind in _RESTARTS:
            self._deadly = False
        elif event.kind == "shell.command" and _starts_a_job(event.get("command")):
            self._changed_since = self._last_failure is not None

    def _watch(self, event: LogEvent) -> None:
        """A test that printed its heading and no row stood still."""
        if event.kind == "bench.header":
            self._open_test = event
        elif event.kind == "job.timed-out":
            self._hung = self._hung or event
        elif event.kind in ("bench.row", "bench.average") or event.role in ("failure", "echo"):
            if event.kind in ("job.interrupted", "job.killed", "job.terminated", "job.sigterm"):
                self._hung = self._hung or self._open_test
            self._open_test = None
        elif event.kind == "shell.command" and _starts_a_job(event.get("command")):
            self._hung = self._hung or self._open_test
            self._open_test = None

    def _attribute(self, event: LogEvent) -> None:
        """Which rank a process or a task is: from the lines that name both."""
        if event.task is not None:
            self._tasks.add(event.task)
            self._tasks_differ = self._tasks_differ or event.rank not in (None, event.task)
        if event.host is None or event.pid is None:
            return
        own = event.get("own")
        if event.kind in ("nccl.init-start", "nccl.init-complete", "nccl.comm") and event.rank is not None:
            self._processes[event.host, event.pid] = event.rank
        elif own:
            self._processes.setdefault((event.host, event.pid), int(own))

    def _state(self, event: LogEvent) -> None:
        if event.host:
            self._hosts_of_labels.setdefault((event.file, event.label), event.host)
        host = event.host or (self._hosts_of_labels.get((event.file, event.label)) if event.label else None)
        if event.kind == "nccl.version" and event.host is None and host is None:
            self._unplaced.append(event)
            return
        if host and event.kind.startswith("nccl."):
            self._hosts.setdefault(host, _Host()).add(event)
        if event.kind in ("nccl.init-start", "nccl.init-complete", "nccl.comm") and host:
            self._communicator(event, host)
        if event.kind == "shell.world" and event.get("world").isdecimal():
            self._world[int(event.get("world"))] += 1

    def _communicator(self, event: LogEvent, host: str) -> None:
        size = int(event.get("nranks") or 0)
        own = (host, str(event.pid), event.get("comm"))
        name = event.get("id") or self._names.get(own) or f"of {size} ranks"
        self._names[own] = name
        known = self._communicators.setdefault(name, _Communicator(size))
        rank = event.rank if event.rank is not None else -1
        if event.kind == "nccl.init-complete":
            known.completed.add(rank)
        elif event.kind == "nccl.init-start":
            known.started.add(rank)
            known.gpus.setdefault((host, event.get("bus")), set()).add(rank)
        else:
            known.nodes = max(known.nodes or 0, int(event.get("nodes")))

    def timeline(self, lines_read: int) -> Timeline:
        """What is known now."""
        hosts = {name: host.observed(name) for name, host in self._hosts.items()}
        for event in self._unplaced if not any(host.versions for host in hosts.values()) else ():
            name = next(iter(hosts), _NO_HOST)
            observed = hosts.get(name, ObservedHost(name=name))
            hosts[name] = _with_version(observed, event.get("version"))
        return Timeline(
            events={kind: tuple(events) for kind, events in self._events.items()},
            counts=dict(self._counts),
            order=dict(self._order),
            hosts=hosts,
            communicators=tuple(known.told(name) for name, known in self._communicators.items()),
            timeouts=tuple(_timeout(event) for event in self._events.get("torch.timeout", ())),
            exits=tuple(_exit(event) for kind in _ENDS for event in self._events.get(kind, ())),
            environment={name: tuple(values) for name, values in self._environment.items()},
            world_size=self._world_size(),
            hung=self._hung or self._open_test or self._stuck_in_init(),
            processes=dict(self._processes),
            tasks_are_ranks=self._tasks_are_ranks(),
            recovered=self._recovered(),
            lines_read=lines_read,
        )

    def _stuck_in_init(self) -> LogEvent | None:
        """The last line of a log in which ranks began to make a communicator and none has finished."""
        moved = ("nccl.init-complete", "nccl.rings", "job.progress", "bench.row", "bench.average", "torch.timeout")
        if any(kind in self._events for kind in moved) or self._last_failure or self._last_success:
            return None
        begun = self._events.get("nccl.init-start") or self._events.get("nccl.network")
        return begun[-1] if begun else None

    def _world_size(self) -> int | None:
        sizes = [known.size for known in self._communicators.values()]
        return max([*sizes, *self._world], default=None)

    def _tasks_are_ranks(self) -> bool:
        """Several tasks, each with one rank: no agent that starts the ranks of a node is among them."""
        agents = any(kind.startswith("torchrun.") for kind in self._events)
        world = self._world_size()
        fits = world is None or max(self._tasks, default=0) < world
        return len(self._tasks) > 1 and not self._tasks_differ and not agents and fits

    def _recovered(self) -> bool:
        if len(self._steps_since) >= _STEPS_ON and not self._changed_since:
            return True
        if self._last_success is None:
            return False
        if self._last_failure is None:
            return True  # whatever looks like a failure is how the processes around a job end
        return self._last_success > self._last_failure and not self._changed_since


class _Host:
    """A host whose lines are being read."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, None]] = {}
        self._transports: Counter[str] = Counter()
        self._ranks: set[int] = set()
        self._environment: dict[str, str] = {}

    def add(self, event: LogEvent) -> None:
        """Take what a line says about the host."""
        note = self._seen.setdefault
        if event.kind in ("nccl.init-start", "nccl.init-complete") and event.rank is not None:
            self._ranks.add(event.rank)
        elif event.kind == "nccl.channel":
            self._transports[_transport(event.get("via"))] += event.repeats or 1
        elif event.kind == "nccl.bootstrap":
            note("interfaces", {})[event.get("interface")] = None
            note("addresses", {})[event.get("address")] = None
        elif event.kind == "nccl.ib":
            note("hcas", {}).update(dict.fromkeys(re.findall(r"\[\d+\]([\w.-]+)", event.get("devices"))))
        elif event.kind == "nccl.gdr-hca":
            note("gdr" if event.get("state") == "Enabled" else "gdr-off", {})[event.get("hca")] = None
        elif event.kind == "nccl.env":
            self._environment[event.get("name")] = event.get("value")
        else:
            names = {
                "nccl.version": "version",
                "nccl.driver": "version",
                "nccl.network": "name",
                "nccl.channels": "count",
            }
            if event.kind in names:
                note(event.kind, {})[event.get(names[event.kind])] = None

    def observed(self, name: str) -> ObservedHost:
        """What is known of it now."""
        seen = {key: tuple(values) for key, values in self._seen.items()}
        return ObservedHost(
            name=name,
            ranks=tuple(sorted(self._ranks)),
            versions=seen.get("nccl.version", ()),
            driver=seen.get("nccl.driver", ()),
            networks=seen.get("nccl.network", ()),
            interfaces=seen.get("interfaces", ()),
            addresses=seen.get("addresses", ()),
            hcas=seen.get("hcas", ()),
            channels=seen.get("nccl.channels", ()),
            transports=dict(self._transports),
            gdr_hcas=seen.get("gdr", ()),
            gdr_hcas_off=seen.get("gdr-off", ()),
            environment=dict(self._environment),
        )


class _Communicator:
    """A communicator whose lines are being read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.started: set[int] = set()
        self.completed: set[int] = set()
        self.nodes: int | None = None
        self.gpus: dict[tuple[str, str], set[int]] = {}

    def told(self, name: str) -> ObservedCommunicator:
        """What is known of it now."""
        return ObservedCommunicator(
            id=name,
            size=self.size,
            started=frozenset(self.started),
            completed=frozenset(self.completed),
            nodes=self.nodes,
            gpus={place: tuple(sorted(ranks)) for place, ranks in self.gpus.items()},
        )


_JOB_WORDS = re.compile(
    r"\b(?:mpirun|mpiexec|srun|sbatch|torchrun|python\S*|accelerate|deepspeed|\w+_perf\w*|vllm|lmdeploy|run)\b|NCCL_\w+="
)


def _starts_a_job(command: str) -> bool:
    return bool(_JOB_WORDS.search(command))


def _transport(via: str) -> str:
    """P2P/CUMEM, SHM, NET/IB/GDRDMA: without the numbers of devices and proxies."""
    if via.startswith("direct shared memory"):
        return "SHM"
    parts = re.sub(r"\(\w+\)", "", via).split("/")
    if parts[0] == "NET":
        return "/".join(["NET", parts[1] if len(parts) > 1 else "?", *(["GDRDMA"] if "GDRDMA" in parts else [])])
    return "/".join(parts[:2]) if parts[0] == "P2P" else parts[0]


def _with_version(observed: ObservedHost, version: str) -> ObservedHost:
    return replace(observed, versions=tuple(dict.fromkeys((*observed.versions, version))))


def _timeout(event: LogEvent) -> CollectiveTimeout:
    sequence = event.get("sequence")
    size = event.get("in") or event.get("shape")
    group = event.get("guid") or event.get("pg")
    return CollectiveTimeout(
        rank=event.rank,
        group=group,
        sequence=int(sequence) if sequence else None,
        op=event.get("op"),
        size=f"{size}/{event.get('out')}" if size else "",
        event=event,
    )


_SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGABRT": 6, "SIGSEGV": 11, "SIGBUS": 7, "SIGINT": 2}
_WORDS = {
    "Killed": 9,
    "Terminated": 15,
    "Segmentation fault": 11,
    "Aborted": 6,
    "Bus error": 7,
    "Out Of Memory": 9,
}


def _exit(event: LogEvent) -> ProcessExit:
    code = int(event.get("code")) if re.fullmatch(r"-?\d{1,5}", event.get("code")) else None
    signal = _SIGNALS.get(event.get("signal"))
    if event.get("number").isdecimal():
        signal = int(event.get("number"))
    elif event.get("signal").isdecimal():
        signal = int(event.get("signal"))
    if how := event.get("how"):
        signal = next((number for word, number in _WORDS.items() if how.startswith(word)), signal)
        if match := re.search(r"exit code (\d+)", how):
            code = int(match[1])
    if code is not None and code < 0:
        signal = -code
    elif code is not None and 128 < code < 160:
        signal = code - 128
    rank = event.rank
    if rank is None and event.get("tasks").isdecimal():
        rank = int(event.get("tasks"))
    return ProcessExit(
        rank=rank,
        host=event.host,
        code=code,
        signal=signal,
        first=event.get("root") == "yes",
        event=event,
        local=int(event.get("local")) if event.get("local").isdecimal() else None,
    )


def ranks_of(timeouts: Iterable[CollectiveTimeout]) -> frozenset[int]:
    """The ranks that gave up waiting."""
    return frozenset(timeout.rank for timeout in timeouts if timeout.rank is not None)
