"""Events to a timeline, one by one; it can be asked at any time what is known so far."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from nccltool.core.text import whole
from nccltool.triage.logs.base import CUT, WORDS, LogEvent, family_of
from nccltool.triage.timeline.exits import exit_of, timeouts_of
from nccltool.triage.timeline.job_course import JobCourse
from nccltool.triage.timeline.milestones import Milestones
from nccltool.triage.timeline.model import NO_HOST, Timeline
from nccltool.triage.timeline.observed import ObservedCommunicator, ObservedHost
from nccltool.triage.timeline.reruns import Reruns, decides
from nccltool.triage.timeline.trials import Trials

_KEPT = 64
"""Events of one kind that are kept for each host, or each rank where the host is not known."""
_KEPT_OF_ALL = 512
_LAST = frozenset({"job.progress", "bench.row", "job.serving"})
"""Kinds of which the last one is kept too: whether work went on behind something."""
_OF_RANKS = ("nccl.proxy-failed", "shell.world")
"""Kinds whose part `own` is the rank of the process that wrote the line."""
_ENDS = ("torchrun.exit", "torchrun.failed", "mpi.exit", "job.exit")


class TimelineBuilder:
    """Takes events as they come, and tells the timeline so far."""

    def __init__(self, is_rerun: bool = False) -> None:
        """`is_rerun`: of the last run alone of a log that has several."""
        self._reruns = None if is_rerun else Reruns()
        self._newest: TimelineBuilder | None = None
        """What the last run of the log says, where it has several."""
        self._events: dict[str, list[LogEvent]] = {}
        self._counts: Counter[str] = Counter()
        self._kept: Counter[tuple[str, str | int | None]] = Counter()
        self._last: dict[tuple[str, str], LogEvent] = {}
        """Kind and file -> the last event that is not kept otherwise."""
        self._order: dict[str, int] = {}
        self._hosts: dict[str, ObservedHost] = {}
        self._nowhere = ObservedHost(name=NO_HOST)
        """What lines of NCCL say that name no host."""
        self._communicators: dict[str, ObservedCommunicator] = {}
        self._environment: dict[str, dict[str, None]] = {}
        self._hosts_of_labels: dict[tuple[str, str], str] = {}
        self._unplaced: list[LogEvent] = []
        self._world: set[int] = set()
        self._processes: dict[tuple[str, int], int] = {}
        self._tasks: set[int] = set()
        self._tasks_differ: bool = False
        self._names: dict[tuple[str, str, str], str] = {}
        self._course = JobCourse()
        self._trials = Trials()
        self._milestones = Milestones()
        self._words: set[str] = set()

    def take(self, events: Iterable[LogEvent]) -> None:
        for event in events:
            self.add(event)

    def add(self, event: LogEvent) -> None:
        if event.kind == WORDS:
            self._words.update(event.get("words").split())
            return
        if event.repeats:
            self._counts[event.kind] += event.repeats
            if event.host:
                self._host(event.host).add(event)
            return
        number = self._order.setdefault(event.file, len(self._order))
        if self._reruns and self._reruns.begins(event):
            self._newest = TimelineBuilder(is_rerun=True)
        if self._newest:
            self._newest.add(event)
        self._counts[event.kind] += 1
        self._course.add(event, (number, event.line))
        self._trials.add(event)
        self._milestones.add(event)
        self._attribute(event)
        if event.kind in ("nccl.env", "shell.env"):
            self._environment.setdefault(event.get("name"), {})[event.get("value")] = None
        if event.role == "state":
            self._state(event)
        key = (event.kind, event.host or event.rank)
        if self._kept[key] < _KEPT and len(self._events.get(event.kind, ())) < _KEPT_OF_ALL:
            self._kept[key] += 1
            self._events.setdefault(event.kind, []).append(event)
        elif event.kind in _LAST:
            self._last[event.kind, event.file] = event

    def _host(self, name: str) -> ObservedHost:
        if name not in self._hosts:
            self._hosts[name] = ObservedHost(name=name)
        return self._hosts[name]

    def _attribute(self, event: LogEvent) -> None:
        """Which rank a process or a task is: from the lines that name both."""
        if event.task is not None:
            self._tasks.add(event.task)
            self._tasks_differ = self._tasks_differ or event.rank not in (None, event.task)
        where, own = event.host or event.get("ip"), event.get("own")
        if not where or event.pid is None:
            return
        if event.kind in ("nccl.init-start", "nccl.init-complete", "nccl.comm") and event.rank is not None:
            self._processes[where, event.pid] = event.rank
        elif own and event.kind in _OF_RANKS:
            self._processes.setdefault((where, event.pid), int(own))

    def _state(self, event: LogEvent) -> None:
        if event.host:
            self._hosts_of_labels.setdefault((event.file, event.label), event.host)
        host = event.host or (self._hosts_of_labels.get((event.file, event.label)) if event.label else None)
        if event.kind == "nccl.version" and event.host is None and host is None:
            self._unplaced.append(event)
            return
        if event.family == "nccl":
            (self._host(host) if host else self._nowhere).add(event)
        if event.kind in ("nccl.init-start", "nccl.init-complete", "nccl.comm") and host:
            self._communicator(event, host)
        if event.kind == "shell.world" and (ranks := whole(event.get("world"))) is not None:
            self._world.add(ranks)

    def _communicator(self, event: LogEvent, host: str) -> None:
        size = int(event.get("nranks") or 0)
        own = (host, str(event.pid), event.get("comm"))
        name = event.get("id") or self._names.get(own) or f"of {size} ranks"
        self._names[own] = name
        self._communicators.setdefault(name, ObservedCommunicator(id=name, size=size)).add(event, host)

    def timeline(self, lines_read: int) -> Timeline:
        """What is known now, of several runs of one log by the last: to be looked at before more is added."""
        whole = self._of_all(lines_read)
        if self._newest is None or len(self._order) > 1:
            return whole
        last = self._newest._of_all(lines_read)
        if not decides(whole, last):
            return whole
        return replace(last, words=whole.words, earlier=next(iter(whole.troubles()), None))

    def _of_all(self, lines_read: int) -> Timeline:
        hosts = dict(self._hosts)
        if not hosts and (self._nowhere.networks or self._nowhere.transports):
            hosts[NO_HOST] = self._nowhere
        unplaced = dict.fromkeys(event.get("version") for event in self._unplaced)
        if unplaced and not any(host.versions for host in hosts.values()):
            some = next(iter(hosts), NO_HOST)
            hosts[some] = replace(hosts.get(some) or ObservedHost(name=some), versions=list(unplaced))
        return Timeline(
            events={kind: (*events, *self._last_of(kind)) for kind, events in self._events.items()},
            counts=dict(self._counts),
            order=dict(self._order),
            hosts=hosts,
            communicators=tuple(self._communicators.values()),
            timeouts=timeouts_of(self._events.get("torch.timeout", ())),
            exits=tuple(exit_of(event) for kind in _ENDS for event in self._events.get(kind, ())),
            environment={name: tuple(values) for name, values in self._environment.items()},
            world_size=self._world_size(),
            hung=self._hung(),
            processes=dict(self._processes),
            tasks_are_ranks=self._tasks_are_ranks(),
            recovered=self._course.recovered(),
            contrasts=self._trials.contrasts() if len(self._order) == 1 else (),
            odd=self._milestones.odd(),
            steps_before=self._course.steps_before,
            lines_read=lines_read,
            words=frozenset(self._words),
        )

    def _last_of(self, kind: str) -> list[LogEvent]:
        return [event for (own, _), event in self._last.items() if own == kind]

    def _hung(self) -> LogEvent | None:
        """The last line before a job stood still: not of a log that ends early, which misses what followed."""
        last = self._course.hung or self._stuck_in_init()
        missing = {event.file for event in self._events.get(CUT, ())}
        return None if last and last.file in missing and last.kind != "job.timed-out" else last

    def _stuck_in_init(self) -> LogEvent | None:
        """The last line of a log in which ranks began to make a communicator and none has finished."""
        moved = ("nccl.init-complete", "nccl.rings", "job.progress", "bench.row", "bench.average", "torch.timeout")
        if any(kind in self._events for kind in moved) or self._course.has_end:
            return None
        begun = self._events.get("nccl.init-start") or self._events.get("nccl.network")
        return begun[-1] if begun else None

    def _world_size(self) -> int | None:
        sizes = [known.size for known in self._communicators.values()]
        return max([*sizes, *self._world], default=None)

    def _tasks_are_ranks(self) -> bool:
        """Several tasks, each with one rank: no agent that starts the ranks of a node is among them."""
        agents = any(family_of(kind) == "torchrun" for kind in self._events)
        world = self._world_size()
        fits = world is None or max(self._tasks, default=0) < world
        return len(self._tasks) > 1 and not self._tasks_differ and not agents and fits
