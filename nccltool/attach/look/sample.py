"""One sample of a host: all ranks of a job at one moment, by sources that are cheap and stop no process."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nccltool.attach.look import cgroup, process, sockets, stacks, step_log
from nccltool.attach.seen.job import HostSample, RankSample, Unread
from nccltool.attach.seen.process import ProcessState, SocketSeen, ThreadStack
from nccltool.attach.seen.ranks import RankFound
from nccltool.attach.seen.sources import CounterValue, StepLog
from nccltool.core.unknown import Unknown
from nccltool.hosts import counters
from nccltool.hosts.sources.base import Tree

_MOST_CHILDREN = 32
"""Children of one rank that are looked at."""
_MOST_WRITERS = 8
"""Ranks of a host whose logs are read: they have the same steps."""


@dataclass(slots=True)
class _Sampling:
    """What one sample is made of."""

    tree: Tree
    memory: step_log.LogMemory | None = None
    threads: Mapping[int, int] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    def taken(self, ranks: Sequence[RankFound], with_stacks: bool) -> HostSample:
        at_s, wall_s = time.monotonic(), time.time()
        pids = [rank.pid for rank in ranks]
        states = {pid: process.state(pid, self.tree) for pid in pids}
        children = {pid: tuple(self._children(pid)) for pid in pids}
        connections = sockets.of_processes(pids, self.tree)
        found = self._stacks(ranks, children) if with_stacks else {}
        for pid, thread in (training_threads(found) if with_stacks else self.threads).items():
            states[pid] = process.state(pid, self.tree, thread)
        return HostSample(
            at_s=at_s,
            wall_s=wall_s,
            ranks=tuple(
                RankSample(
                    pid=rank.pid,
                    process=states[rank.pid],
                    cgroup=cgroup.state(rank.pid, self.tree),
                    children=children[rank.pid],
                    stacks=found.get(rank.pid, ()),
                    sockets=self._sockets(rank, connections[rank.pid], states[rank.pid]),
                )
                for rank in ranks
            ),
            counters=tuple(self._counters()),
            step_logs=self._step_logs(ranks, step_log.END_BYTES if with_stacks else step_log.PULSE_BYTES),
        )

    def _step_logs(self, ranks: Sequence[RankFound], end_bytes: int) -> tuple[StepLog, ...]:
        """Of the ranks, and of what started them: torchrun may write for them."""
        agents = (rank.agent_pid for rank in ranks if rank.agent_pid is not None)
        pids = dict.fromkeys((*(rank.pid for rank in ranks[:_MOST_WRITERS]), *agents))
        found, unread = step_log.read(tuple(pids), self.tree, end_bytes, self.memory)
        self.unread += (replace(one, host=rank.host) for rank in ranks[:1] for one in unread)
        return found

    def _children(self, pid: int) -> Iterator[ProcessState]:
        for child, _ in zip(process.below(pid, self.tree), range(_MOST_CHILDREN), strict=False):
            if (state := process.state(child, self.tree)) is not None:
                yield state

    def _sockets(
        self, rank: RankFound, found: tuple[SocketSeen, ...] | Unknown, state: ProcessState | None
    ) -> tuple[SocketSeen, ...] | None:
        if not isinstance(found, Unknown):
            return found
        if state is not None and state.state != "Z":
            self._miss(f"sockets of {told(rank)}", found, "run as root or as the job's user", rank)
        return None

    def _stacks(
        self, ranks: Sequence[RankFound], children: Mapping[int, tuple[ProcessState, ...]]
    ) -> dict[int, tuple[ThreadStack, ...]]:
        found: dict[int, tuple[ThreadStack, ...]] = {}
        taken = stacks.taken([rank.pid for rank in ranks], self.tree)
        for rank in ranks:
            of = taken[rank.pid]
            if isinstance(of, Unknown):
                if process.state(rank.pid, self.tree) is not None:
                    missing = stacks.missing_right(of.reason)
                    self._miss(f"Python stack of {told(rank)}", of, missing, rank)
                continue
            if stacks.waits_for_workers(of):
                workers = [child.pid for child in children[rank.pid] if child.name.startswith(_PYTHON)]
                below = stacks.of_workers(workers, self.tree).values()
                of += tuple(one for worker in below if not isinstance(worker, Unknown) for one in worker)
            found[rank.pid] = of
        return found

    def _miss(self, what: str, why: Unknown, missing: str, rank: RankFound) -> None:
        self.unread.append(Unread(what=what, reason=why.reason, missing=missing, host=rank.host, pid=rank.pid))

    def _counters(self) -> Iterator[CounterValue]:
        read = counters.read(self.tree)
        for (device, name), value in read.values.items():
            yield CounterValue(device=device, name=name, value=value)


_PYTHON = ("pt_data_worker", "python")


def take(
    ranks: Sequence[RankFound],
    tree: Tree,
    with_stacks: bool = True,
    memory: step_log.LogMemory | None = None,
    threads: Mapping[int, int] | None = None,
) -> tuple[HostSample, tuple[Unread, ...]]:
    """All ranks of one job on this host, now, and what could not be read; `threads` as of `training_threads`."""
    sampling = _Sampling(tree, memory, threads or {})
    return sampling.taken(ranks, with_stacks), tuple(sampling.unread)


def training_threads(found: Mapping[int, Sequence[ThreadStack]]) -> dict[int, int]:
    """By process, the thread that trains where it is not the main one; 0 = none does."""
    threads = {
        pid: next((one for one in stacks if one.pid == pid and one.trains), None) for pid, stacks in found.items()
    }
    return {
        pid: 0 if one is None else one.os_thread_id or 0
        for pid, one in threads.items()
        if one is None or one.name != "MainThread"
    }


def told(rank: RankFound) -> str:
    """`rank 3 (pid 4711)`."""
    return f"pid {rank.pid}" if rank.rank is None else f"rank {rank.rank} (pid {rank.pid})"
