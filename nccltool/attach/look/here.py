"""Looking at this host: its ranks, then samples, then what is read once."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.attach.find import addresses, gone, processes, ranks
from nccltool.attach.find.processes import ProcessRow
from nccltool.attach.find.ranks import RanksFound
from nccltool.attach.look import longer, once, ras, recorder_pipe, sample, stacks
from nccltool.attach.look.order import JobHere, LookAnswer, LookOrder
from nccltool.attach.seen.job import EmptyHost, HostLook, HostSample, Unread
from nccltool.attach.seen.ranks import RankFound, RankGone
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree


def look(order: LookOrder, wait: Callable[[float], None] = time.sleep) -> LookAnswer:
    """Look at one job on this host, as ordered."""
    tree, host = Tree(), socket.gethostname()
    began, cpu = time.monotonic(), time.process_time()
    rows = processes.rows(tree)
    boot_s, tick_s = processes.started_at_s(tree, 0), 1 / os.sysconf("SC_CLK_TCK")
    found = ranks.found(rows, host, boot_s, tick_s, os.getpid())
    jobs = tuple(_jobs(found.ranks))
    choice = chosen_job(order, found, rows)
    if choice.reason:
        return _no_look(host, choice, jobs, rows, tree)
    job = choice.job
    own = addresses.with_addresses([rank for rank in found.ranks if rank.job == job], tree)
    agents = tuple(agent for agent in found.agents if agent.job == job)
    pids = {rank.pid for rank in own}
    missing = [one for one in found.unread if one.pid in pids]
    if order.ras is not None:
        answers, unread = ras.asked(order.ras, own, tree, wait)
        told = HostLook(host=host, ranks=own, samples=(), ras=answers, unread=unread)
        return LookAnswer(host=host, jobs=jobs, look=told)
    samples = _samples(order, own, tree, missing, wait)
    if order.native and samples:
        samples[-1] = _with_native(samples[-1], order, own, tree, missing)
    if order.asks:
        missing += recorder_pipe.ask(own, tree, wait)
    after = processes.rows(tree)
    agents = tuple(replace(agent, state=after[agent.pid].state) for agent in agents if agent.pid in after)
    ended = (*gone.gone(after, own, agents, host, tree), *_ended(own, after, host))
    paused_s = samples[-1].at_s - samples[0].at_s
    seen = HostLook(
        host=host,
        ranks=own,
        samples=tuple(samples),
        agents=agents,
        gone=_each_once(ended),
        unread=tuple(missing),
        cores=os.cpu_count(),
    )
    seen = once.read(seen, tree, order.trust_pickle)
    took_s = max(0.0, time.monotonic() - began - paused_s)
    return LookAnswer(
        host=host,
        jobs=jobs,
        look=replace(seen, took_s=took_s, own_cpu_s=time.process_time() - cpu),
    )


def _no_look(
    host: str, choice: "JobChoice", jobs: tuple[JobHere, ...], rows: Mapping[int, ProcessRow], tree: Tree
) -> LookAnswer:
    """The host has no rank only if other users' processes are seen, too: hidepid hides its first process."""
    empty = None
    if not choice.among and 1 in rows:
        empty = EmptyHost(host=host, reason=choice.reason, addresses=addresses.of_process("self", tree))
    return LookAnswer(
        host=host,
        jobs=tuple(one for one in jobs if one.job in choice.among) or jobs,
        reason=choice.reason,
        is_ambiguous=bool(choice.among),
        empty=empty,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobChoice:
    """The job to look at, or why there is none."""

    job: str = ""
    reason: str = ""
    among: tuple[str, ...] = ()
    """Jobs that could have been meant."""


def chosen_job(order: LookOrder, found: RanksFound, rows: Mapping[int, ProcessRow]) -> JobChoice:
    candidates = _of_scheduler_job(order, _without_tasks(found.ranks))
    jobs = tuple(dict.fromkeys(rank.job for rank in candidates))
    if order.job:
        is_here = any(rank.job == order.job for rank in found.ranks)
        return JobChoice(job=order.job) if is_here else JobChoice(reason=f"no rank of job {order.job!r} runs here")
    if order.pid is not None:
        return _job_of(order.pid, found, rows)
    if order.program:
        named = (rank for rank in _of_scheduler_job(order, found.ranks) if rank.program == order.program)
        jobs = tuple(dict.fromkeys(rank.job for rank in named))
        if not jobs:
            return JobChoice(reason=f"no rank of a job that runs {order.program} was found here")
    if not jobs:
        return JobChoice(reason=_nobody(rows))
    if len(jobs) == 1:
        return JobChoice(job=jobs[0])
    return JobChoice(reason=f"{len(jobs)} jobs run here", among=jobs)


def _without_tasks(found: Sequence[RankFound]) -> Sequence[RankFound]:
    """Tasks of a scheduler that may be no ranks, such as a monitor beside them, count only where no rank is."""
    sure = tuple(rank for rank in found if rank.known_by != "scheduler")
    return sure or found


def _of_scheduler_job(order: LookOrder, found: Sequence[RankFound]) -> Sequence[RankFound]:
    """Jobs of a scheduler may share a host."""
    if not order.slurm_job:
        return found
    return tuple(rank for rank in found if rank.setting("SLURM_JOB_ID") in (order.slurm_job, ""))


def _nobody(rows: Mapping[int, ProcessRow]) -> str:
    """torchrun starts its ranks when all its nodes have joined."""
    idle = [pid for pid, row in rows.items() if ranks.is_agent(row) and row.state != "Z"]
    if idle:
        return f"torchrun, pid {idle[0]}, has started no rank: it waits until torchrun runs on all its nodes"
    return "no rank of a distributed job runs here, or none that this user may see"


def _job_of(pid: int, found: RanksFound, rows: Mapping[int, ProcessRow]) -> JobChoice:
    """The job of a rank, of a process below one, or of what started it."""
    if pid not in rows:
        return JobChoice(reason=f"no process has pid {pid}")
    by_pid = {rank.pid: rank.job for rank in found.ranks}
    near = [pid, *ranks.above(rows, pid)]
    named = next((by_pid[one] for one in near if one in by_pid), None)
    if named is not None:
        return JobChoice(job=named)
    below = tuple(dict.fromkeys(job for one, job in by_pid.items() if pid in set(ranks.above(rows, one))))
    if len(below) == 1:
        return JobChoice(job=below[0])
    if below:
        return JobChoice(reason=f"pid {pid} has started {len(below)} jobs", among=below)
    return JobChoice(reason=f"pid {pid} is no rank and has started none")


def _jobs(found: Sequence[RankFound]) -> Iterator[JobHere]:
    for job in dict.fromkeys(rank.job for rank in found):
        of = [rank for rank in found if rank.job == job]
        yield JobHere(job=job, program=of[0].program, ranks=len(of), pid=of[0].pid)


def _samples(
    order: LookOrder, own: tuple[RankFound, ...], tree: Tree, missing: list[Unread], wait: Callable[[float], None]
) -> list[HostSample]:
    found: list[HostSample] = []
    for _ in range(order.samples):
        if found:  # from the beginning of one sample to that of the next
            wait(max(0.0, found[-1].at_s + order.interval_s - time.monotonic()))
        taken, unread = sample.take(own, tree, order.with_stacks)
        found.append(taken)
        missing += unread
    if extra_s := longer.extra_s(found, own):
        wait(extra_s)
        taken, unread = sample.take(own, tree, order.with_stacks)
        found.append(taken)
        missing += unread
    return found


def _with_native(
    last: HostSample, order: LookOrder, own: Sequence[RankFound], tree: Tree, missing: list[Unread]
) -> HostSample:
    """With the stacks of suspects beside those without native frames."""
    suspects = {rank.pid: rank for rank in own if rank.rank in order.native}
    taken = stacks.taken(list(suspects), tree, is_native=True)
    for pid, rank in suspects.items():
        if isinstance(why := taken[pid], Unknown):
            what, right = f"native stack of {sample.told(rank)}", stacks.missing_right(why.reason)
            missing.append(Unread(what=what, reason=why.reason, missing=right, host=rank.host, pid=pid))
    more = {pid: found for pid, found in taken.items() if not isinstance(found, Unknown)}
    return replace(
        last, ranks=tuple(replace(one, stacks=one.stacks + more.get(one.pid, ())) for one in last.ranks)
    )


def _ended(own: Sequence[RankFound], after: Mapping[int, ProcessRow], host: str) -> Iterator[RankGone]:
    """Ranks that were here at the beginning."""
    for rank in own:
        row = after.get(rank.pid)
        if row is None or row.state == "Z":
            yield RankGone(host=host, rank=rank.rank, pid=rank.pid, how="zombie" if row else "ended")


def _each_once(ended: Sequence[RankGone]) -> tuple[RankGone, ...]:
    """A rank whose error file was found is not named a second time."""
    found: dict[object, RankGone] = {}
    for one in ended:
        found.setdefault(one.pid if one.rank is None else -1 - one.rank, one)
    return tuple(found.values())
