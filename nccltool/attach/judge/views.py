"""What two samples of a rank say together: whether it moves, for how long it has been idle, what holds it."""

from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.attach.phases.match import phase_of
from nccltool.attach.phases.result import STARTS, Phase
from nccltool.attach.phases.without_stack import phase_without_stack
from nccltool.attach.seen.job import HostLook, JobLook, RankSample
from nccltool.attach.seen.process import ProcessState, SocketSeen, ThreadStack
from nccltool.attach.seen.ranks import RankFound

_MOST_SWITCHES_PER_S = 0.5
"""Of the thread that trains: 0 in a rank that waits in Gloo, thousands in one that trains."""
_MOST_CPU_SHARE = 0.05
"""A rank that waits in Gloo takes 0 to 1 % of a core."""
_LOADER = "pt_data_worker"
_GROUP_THREADS = ("pt_gloo", "pt_nccl", "gloo_tcp", "NCCL ")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RankView:
    """A rank, from all samples of its host. Compared by identity: comparing values took most of the time."""

    host: HostLook
    found: RankFound
    samples: tuple[RankSample, ...]
    span_s: float
    """Between the first and the last sample."""
    phases: tuple[Phase, ...]
    condition: str
    """dead, stopped, frozen, traced; empty = it runs."""
    cpu_share: float | None
    switches_per_s: float | None
    is_same: bool | None
    """Whether all samples have the same frames; None = fewer than two stacks."""
    waits_for_a_core: float | None
    """Share of the time in which its training thread was ready and had no core."""
    throttled_share: float | None

    @property
    def rank(self) -> int | None:
        return self.found.rank

    @property
    def phase(self) -> Phase:
        return self.phases[-1]

    @property
    def waits(self) -> bool:
        return self.phase.waits_for_ranks or self.phase.waits_for_store

    @property
    def waits_for_store_now(self) -> bool:
        return self.phase.waits_for_store

    @property
    def is_static(self) -> bool | None:
        """Nothing happened between the samples: same frames, no switch of the thread that trains, no CPU time."""
        if self.condition:
            return True
        if self.switches_per_s is None:
            return None
        if self.is_unseen:  # a busy thread without switches computes, or spins where it waits for a GPU
            has_switched = self.switches_per_s > _MOST_SWITCHES_PER_S
            return False if has_switched else None if self.is_busy else True
        is_spinning = self.phase.kind == "gpu"  # CUDA waits at 100 % of a core
        is_polling = self.waits_for_store_now  # torch asks the store for its ranks every 10 ms
        sleeps = is_polling or self.switches_per_s <= _MOST_SWITCHES_PER_S
        if not sleeps or (self.is_busy and not is_spinning):
            return False
        return self.is_same

    @property
    def is_unseen(self) -> bool:
        """It runs, and no sample has a stack of it."""
        return not self.condition and not any(one.stacks for one in self.samples)

    @property
    def progresses(self) -> bool:
        """It starts, and moves: itself, or the compilers that it started."""
        if self.waits or (self.phase.kind not in STARTS and not self.is_unseen):
            return False
        return self.is_static is False or self.is_busy or _children_work(self.samples)

    @property
    def has_group(self) -> bool:
        """It has threads of a process group."""
        return self.process is not None and any(name.startswith(_GROUP_THREADS) for name in self.process.threads)

    @property
    def age_s(self) -> float | None:
        """Of its process in the last sample."""
        started = self.found.started_at_s
        if started is None or not self.host.samples:
            return None
        return max(0.0, self.host.samples[-1].wall_s - started)

    @property
    def is_busy(self) -> bool:
        return self.cpu_share is not None and self.cpu_share > _MOST_CPU_SHARE

    @property
    def last(self) -> RankSample:
        return self.samples[-1]

    @property
    def process(self) -> ProcessState | None:
        return self.last.process

    @property
    def name(self) -> str:
        """For people."""
        return f"rank {self.rank}" if self.rank is not None else f"pid {self.found.pid} on {self.found.host}"

    def rate(self, counter: str) -> float | None:
        """Of a counter of its process, per second."""
        first, last = self.samples[0].process, self.last.process
        return None if first is None or last is None else _rate(first, last, counter, self.span_s)

    @property
    def loaders(self) -> tuple[ProcessState, ...]:
        return tuple(child for child in self.last.children if child.name == _LOADER)

    def stacks_of(self, pid: int) -> tuple[ThreadStack, ...]:
        return tuple(one for one in self.last.stacks if one.pid == pid)


def views(look: JobLook) -> tuple[RankView, ...]:
    return tuple(_view(host, rank) for host, rank in look.ranks())


def _view(host: HostLook, found: RankFound) -> RankView:
    seen = [(sample.at_s, one) for sample in host.samples if (one := sample.of(found.pid))]
    samples = tuple(one for _, one in seen) or (RankSample(pid=found.pid, process=None),)
    span = seen[-1][0] - seen[0][0] if len(seen) > 1 else 0.0
    first, last = samples[0].process, samples[-1].process
    ends = (first, last) if first and last and span > 0 else None
    cpu = _rate(*ends, "main_cpu_s", span) if ends else None
    condition = _condition(samples[-1])
    return RankView(
        host=host,
        found=found,
        samples=samples,
        span_s=span,
        phases=tuple(_phase(one, found.pid, cpu) for one in _with_stacks(samples)),
        condition=condition,
        cpu_share=cpu,
        switches_per_s=_rate(*ends, "main_voluntary_switches", span) if ends else None,
        is_same=_is_same(samples, found.pid),
        waits_for_a_core=_rate(*ends, "run_delay_s", span) if ends else None,
        throttled_share=_throttled(samples, span),
    )


def _with_stacks(samples: Sequence[RankSample]) -> Sequence[RankSample]:
    """A watch puts a sample without stacks ahead of the others, and a stack may not be readable at some moment."""
    return [one for one in samples if one.stacks or (one is samples[-1] and _condition(one) == "dead")] or samples


def _rate(first: ProcessState, last: ProcessState, counter: str, span_s: float) -> float | None:
    before, after = getattr(first, counter), getattr(last, counter)
    if before is None or after is None or span_s <= 0 or after < before:  # a decrease: another process
        return None
    return float(after - before) / span_s


def _condition(sample: RankSample) -> str:
    process, cgroup = sample.process, sample.cgroup
    if process is None or process.state in ("Z", "X"):
        return "dead"
    if process.state == "t" or process.tracer_pid:
        return "traced"
    if process.state == "T":
        return "stopped"
    return "frozen" if cgroup and cgroup.frozen else ""


def _phase(sample: RankSample, pid: int, cpu_share: float | None) -> Phase:
    if sample.process is None or sample.process.state in ("Z", "X"):
        return Phase(kind="unknown", text="has ended", reason="its process has ended")
    own = sorted((one for one in sample.stacks if one.pid == pid), key=lambda one: not one.is_native)
    if not own:
        return phase_without_stack(sample.process, cpu_share)
    names = [child.name for child in sample.children]
    return phase_of(own, state=sample.process.state, cpu_share=cpu_share, children=names)


def _frames(sample: RankSample, pid: int) -> tuple[tuple[str, str, int | None], ...] | None:
    main = next((one for one in sample.stacks if one.pid == pid and one.trains), None)
    if main is None or not main.frames:
        return None
    return tuple((frame.name, frame.file, frame.line) for frame in main.frames)


def _is_same(samples: Sequence[RankSample], pid: int) -> bool | None:
    """Stacks with native frames have more of them, so only those of the same kind are compared."""
    seen = [frames for one in samples if (frames := _frames(one, pid)) is not None]
    return None if len(seen) < 2 else all(one == seen[0] for one in seen)


def _children_work(samples: Sequence[RankSample]) -> bool:
    """Whether some child has had CPU time between the samples."""
    before = {one.pid: one.cpu_s for one in samples[0].children}
    return any(one.cpu_s is not None and one.cpu_s > (before.get(one.pid) or 0.0) for one in samples[-1].children)


def _throttled(samples: Sequence[RankSample], span_s: float) -> float | None:
    first, last = samples[0].cgroup, samples[-1].cgroup
    if first is None or last is None or first.throttled_s is None or last.throttled_s is None or span_s <= 0:
        return None
    return max(0.0, last.throttled_s - first.throttled_s) / span_s


Ends = frozenset[tuple[str, str]]
"""Local and peer address of every connection that some rank has."""


def ends_of(views: Sequence[RankView]) -> Ends:
    """Without those of the store: rank 0 may have both ends of one."""
    return frozenset(
        (one.local, one.peer)
        for view in views
        for one in view.last.sockets or ()
        if one.state == "ESTAB" and not is_of_store(one, view)
    )


def is_of_store(one: SocketSeen, view: RankView) -> bool:
    """By the port: the master's address may be a name."""
    _, sign, port = view.found.master.rpartition(":")
    return bool(sign and port) and port in (one.local.rpartition(":")[2], one.peer.rpartition(":")[2])


def idle_s(view: RankView, ends: Ends) -> float | None:
    """Since when no connection between `view` and another rank has had data; None = not readable, or none.

    The kernel keeps the time of the last data of each connection, so this reaches back before the first sample. A
    connection counts if both its ends are in `ends`.
    """
    quiet = [
        ms for one in view.last.sockets or () if (one.peer, one.local) in ends and (ms := _quiet_ms(one, view))
    ]
    return min(quiet) / 1000 if quiet else None


def _quiet_ms(one: SocketSeen, view: RankView) -> int | None:
    sent = None if one.backoff else one.last_sent_ms  # sending again counts as sending
    known = [ms for ms in (sent, one.last_received_ms) if ms is not None]
    return min(known) if known and one.state == "ESTAB" and not is_of_store(one, view) else None
