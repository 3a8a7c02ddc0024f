"""What two samples without stacks say: whether a look with stacks is worth its cost. Pure."""

from dataclasses import dataclass, replace

from nccltool.attach.judge.progress import NO_PROGRESS, JobProgress, progress_of
from nccltool.attach.judge.views import RankView, views
from nccltool.attach.seen.job import HostLook, HostSample, JobLook

_MOST_SWITCHES_PER_S = 0.5
"""Of the thread that trains, as in `judge/views.py`."""
_THROTTLED = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class JobPulse:
    """One tick."""

    strange: frozenset[tuple[str, int, str]]
    """Host, pid, and what is strange about it: it does not move or cannot be read, is stopped, or gets too
    little CPU time."""
    progress: JobProgress = NO_PROGRESS
    ranks: int = 0

    @property
    def is_strange(self) -> bool:
        return bool(self.strange)


def pulse_of(before: JobLook | None, now: JobLook) -> JobPulse:
    joined = now if before is None else with_earlier(before, now)
    seen = views(joined)
    progress = progress_of(joined, seen)
    strange = {(view.found.host, view.found.pid, what) for view in seen if (what := _strange(view))}
    strange |= {(one.host or one.what, 0, "not looked at") for one in now.unreached}
    if progress.is_slower:
        strange.add(("", 0, "slower"))
    return JobPulse(strange=frozenset(strange), progress=progress, ranks=len(seen))


def _strange(view: RankView) -> str:
    if view.condition:
        return view.condition
    if view.throttled_share is not None and view.throttled_share >= _THROTTLED:
        return "throttled"
    if view.switches_per_s is None:
        return "not read" if len(view.samples) > 1 else ""
    return "still" if view.switches_per_s <= _MOST_SWITCHES_PER_S else ""


def with_earlier(before: JobLook, now: JobLook) -> JobLook:
    """The hosts of `now`, with the last sample of `before` ahead of their own: a longer span without movement."""
    last = {host.host: host for host in before.hosts if host.samples}
    return replace(now, hosts=tuple(_longer(last.get(host.host), host) for host in now.hosts))


def _longer(before: HostLook | None, now: HostLook) -> HostLook:
    if before is None or not now.samples or {one.pid for one in before.ranks} != {one.pid for one in now.ranks}:
        return now
    first: HostSample = before.samples[-1]
    return replace(now, samples=(first, *now.samples)) if first.at_s < now.samples[0].at_s else now
