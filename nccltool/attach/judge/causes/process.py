"""Rows 1, 2, 3, and 17: the process itself is dead, stopped, frozen, traced, or holds Python's lock."""

from collections.abc import Iterator

from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import CauseName, Culprit, Level
from nccltool.attach.judge.views import RankView

_TOLD: dict[str, tuple[CauseName, str]] = {
    "stopped": ("stopped", "is stopped (state T: SIGSTOP)"),
    "frozen": ("frozen", "is frozen by its cgroup"),
    "traced": ("traced", "is held by a debugger"),
}


def clues(case: Case) -> Iterator[Culprit]:
    alive = [view for view in case.views if view.condition != "dead"]
    if any(view.phase.kind != "leaving" for view in alive):
        yield from _dead(case)
    for view in case.views:
        if view.condition in _TOLD:
            yield _held(case, view)
        elif _gil_by_stacks(view) or _gil_by_server(view):
            yield _gil(case, view)
    here = {view.rank for view in case.views}
    for rank in sorted(case.ras.dead - here):
        yield case.culprit("dead", f"rank {rank} is dead", "RAS: its process is considered dead", rank=rank)
    for rank in sorted(case.ras.silent - here):
        yield case.culprit(
            "stopped", f"rank {rank} does not answer RAS", "RAS: unresponsive", level="medium", rank=rank
        )


def _dead(case: Case) -> Iterator[Culprit]:
    gone = {view.rank: "its process has ended" for view in case.views if view.condition == "dead"}
    absent = {one.rank: one for one in case.absent}
    if not case.waiting or not all(view.waits_for_store_now for view in case.waiting):  # else it never came
        gone.update({rank: one.told for rank, one in absent.items()})
    texts: dict[int | None, str] = {
        one.rank: one.text for host in case.look.hosts for one in host.gone if one.rank is not None
    }
    for rank in texts:
        gone.setdefault(rank, "it has left an error file")
    if not gone or len(gone) >= len(case.views) + len(case.missing):
        return  # all of them: the job has ended
    for rank, told in gone.items():
        one = absent.get(rank) if rank is not None else None
        left = next((of.host for of in case.look.hosts for gone in of.gone if gone.rank == rank), "")
        host = next((view.found.host for view in case.views if view.rank == rank), one.host if one else left)
        is_certain = one is None or one.is_certain
        yield _ended(case, rank, host, told, texts.get(rank, ""), None if is_certain else "medium")


def _ended(case: Case, rank: int | None, host: str, told: str, text: str, level: Level | None) -> Culprit:
    name = "a rank" if rank is None else f"rank {rank}"
    if killed := _oom(case, rank):
        shown, is_certain = killed
        message = f"{name} was killed because memory ran out"
        level = level if is_certain else "medium"
        return case.culprit("out-of-memory", message, told, text, shown, level=level, rank=rank, host=host)
    rival = ("--hosts names a host without ranks, and omits one that has some",) if level else ()
    return case.culprit("dead", f"{name} is dead", told, text, level=level, rank=rank, host=host, rivals=rival)


def _oom(case: Case, rank: int | None) -> tuple[str, bool] | None:
    """What shows it, and whether it names the pid."""
    pids = {view.found.pid for view in case.views if view.rank == rank}
    pids |= {one.pid for host in case.look.hosts for one in host.gone if one.rank == rank and one.pid}
    for host in case.look.hosts:
        for line in host.kernel:
            if line.kind == "oom-kill" and line.pid in pids:
                return f"kernel: {line.text}", True
    for view in case.views:
        first, last = view.samples[0].cgroup, view.samples[-1].cgroup
        rose = first and last and (last.oom_kills or 0) > (first.oom_kills or 0)
        if rose and view.rank == rank:
            return "oom_kill of its cgroup rose", False
    return None


def _held(case: Case, view: RankView) -> Culprit:
    cause, text = _TOLD[view.condition]
    process, cgroup = view.process, view.last.cgroup
    told = f"/proc/{view.found.pid}/status: state {process.state}" if process else ""
    tracer = f"traced by pid {process.tracer_pid}" if process and process.tracer_pid else ""
    frozen = f"cgroup {cgroup.path} is frozen" if cgroup and cgroup.frozen else ""
    silent = "RAS: unresponsive" if view.rank in case.ras.silent else ""
    return case.of_rank(cause, view, text, told, tracer, frozen, silent)


def _gil_by_stacks(view: RankView) -> bool:
    """In one sample, a call that is short may hold it."""
    return all(phase.kind == "gil" for phase in view.phases) and view.is_same is not False


def _gil_by_server(view: RankView) -> bool:
    return any(one.pid == view.found.pid and one.answers and one.gil_held for one in view.host.servers)


def _gil(case: Case, view: RankView) -> Culprit:
    server = "ping of its worker server answers, dump_traceback does not" if _gil_by_server(view) else ""
    stack = "its training thread has the lock in all samples and does not run" if _gil_by_stacks(view) else ""
    where = f"called at {view.phase.where}" if view.phase.where else ""
    return case.of_rank("gil", view, "holds Python's lock (GIL) in native code", stack, server, where)
