"""Which logs are of one job, and which of different jobs.

1. What shares the number of a job, an id of torchrun's rendezvous, a communicator, or a saved run is one job.
2. Logs whose names differ only in ranks, hosts or streams are one job, unless something tells them apart.
3. What tells apart: different numbers or ids; two headings of nccl-tests, which only rank 0 prints; different
   communicators, each with all of its ranks, on the same hosts or over several; other endpoints of torchrun;
   several hosts each, none of them the same; a log for each of the same ranks in another folder; a day or more
   between their times; names with other days, where the job of the earlier day came to its end in order, or
   where a launcher or scheduler told its end and the later day begins with a start.
4. What nothing tells from any other is one job with it. What fits several jobs joins the only one with its hosts;
   else it is judged on its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nccltool.triage.job_names import LogName
from nccltool.triage.job_traces import JobTraces

APART = timedelta(hours=26)
"""Between times that are of different jobs: clocks of hosts and of pods differ by their time zone."""
_MOST_COMPARED = 200
"""With which each is compared to see whether anything is apart from it."""
_YEAR = timedelta(days=366)


@dataclass(slots=True)
class JobLogs:
    """Logs of one job, as far as can be told."""

    files: list[str]
    names: list[LogName]
    traces: JobTraces
    run: str = ""
    """The folder of a saved run of nccltool; empty = it is none."""

    @property
    def title(self) -> str:
        """What the job is called: its number, its run, or its logs."""
        if self.run:
            return f"run {self.run}"
        named = {name.job for name in self.names if name.job} or self.traces.jobs
        return f"job {min(named)}" if len(named) == 1 else ""

    @property
    def has_evidence(self) -> bool:
        """Whether anything could tell it from another job."""
        traces = self.traces
        return bool(self.run or traces.jobs or traces.launches or traces.begins_test or traces.complete)

    def absorb(self, other: "JobLogs") -> None:
        self.files += other.files
        self.names += other.names
        self.traces.merge(other.traces)
        self.run = self.run or other.run


def grouped(logs: Sequence[JobLogs]) -> list[JobLogs]:
    """The jobs of logs; each is given as a job of its own, and changed."""
    order = {log.files[0]: place for place, log in enumerate(logs)}
    for log in logs:
        if len(log.traces.jobs) > 1:  # a list of jobs is no job
            log.traces.jobs = set()
        log.traces.jobs.update(name.job for name in log.names if name.job)
    jobs = _of_families(_linked(logs))
    jobs = _told_apart(jobs)
    for job in jobs:
        job.files.sort(key=order.__getitem__)
    return sorted(jobs, key=lambda job: order[job.files[0]])


def _linked(logs: Iterable[JobLogs]) -> list[JobLogs]:
    """Step 1."""
    home: dict[str, JobLogs] = {}
    jobs: dict[int, JobLogs] = {}
    for log in logs:
        keys = _keys(log)
        found = {id(home[key]): home[key] for key in keys if key in home}
        job, *others = found.values() if found else [log]
        for other in [*others, *([log] if found else [])]:
            jobs.pop(id(other), None)
            job.absorb(other)
        jobs[id(job)] = job
        if others:
            home |= {key: job for key, known in home.items() if any(known is other for other in others)}
        home |= dict.fromkeys(keys, job)
    return list(jobs.values())


def _keys(log: JobLogs) -> list[str]:
    ids = (("job", log.traces.jobs), ("launch", log.traces.launches), ("communicator", log.traces.communicators))
    return [f"{kind} {name}" for kind, names in (*ids, ("run", {log.run} - {""})) for name in names]


def _of_families(jobs: Sequence[JobLogs]) -> list[JobLogs]:
    """Step 2."""
    families: dict[str, list[JobLogs]] = {}
    alone: list[JobLogs] = []
    for job in jobs:
        family = {name.family for name in job.names if name.part and not job.run}
        if len(family) != 1:
            alone.append(job)
            continue
        together = families.setdefault(family.pop(), [])
        fitting = next((other for other in together if not apart(other, job, alike=True)), None)
        if fitting is None:
            together.append(job)
        else:
            fitting.absorb(job)
    return [*alone, *(job for together in families.values() for job in together)]


def _told_apart(logs: Sequence[JobLogs]) -> list[JobLogs]:
    """Steps 3 and 4."""
    jobs: list[JobLogs] = []
    unplaced: list[JobLogs] = []
    some = logs[:_MOST_COMPARED]
    for log in sorted(logs, key=lambda log: not (log.has_evidence or any(apart(log, other) for other in some))):
        numbered = log.traces.jobs  # jobs with the same number are linked already
        fitting = [job for job in jobs if not (numbered and job.traces.jobs) and not apart(job, log)]
        if len(fitting) == 1 and (len(jobs) == 1 or not fitting[0].has_evidence or _shares_host(fitting[0], log)):
            fitting[0].absorb(log)
        elif not fitting:
            jobs.append(log)
        elif len(near := [job for job in fitting if _shares_host(job, log)]) == 1:
            near[0].absorb(log)
        else:
            unplaced.append(log)
    return [*jobs, *_without_evidence(unplaced, jobs)]


def _without_evidence(logs: Sequence[JobLogs], jobs: Sequence[JobLogs]) -> list[JobLogs]:
    """What fits several jobs: together, as far as it fits; text that says nothing of a job is none."""
    own: list[JobLogs] = []
    for log in logs:
        if jobs and not (log.traces.says or log.traces.is_cut):
            continue
        fitting = next((job for job in own if not apart(job, log)), None)
        if fitting is None:
            own.append(log)
        else:
            fitting.absorb(log)
    return own


def _shares_host(one: JobLogs, other: JobLogs) -> bool:
    return bool(one.traces.hosts & other.traces.hosts)


def apart(one: JobLogs, other: JobLogs, *, alike: bool = False) -> bool:
    """Whether something tells two jobs from each other; `alike`: their names differ only in parts."""
    a, b = one.traces, other.traces
    ids = ((a.jobs, b.jobs), (a.launches, b.launches), ({one.run} - {""}, {other.run} - {""}))
    different = any(mine and its and not mine & its for mine, its in ids)
    tests = a.begins_test and b.begins_test
    if (
        different
        or tests
        or _other_days(one, other)
        or _different_endpoints(a.endpoints, b.endpoints)
        or _different_communicators(a, b)
    ):
        return True
    return not alike and (_other_hosts(a, b) or _same_ranks_elsewhere(one, other) or _days_between(a, b))


def _different_endpoints(mine: set[str], its: set[str]) -> bool:
    """Of torchrun's rendezvous: other ports, or other names. An address can be that of a name."""
    if not mine or not its or mine & its:
        return False
    ports = [{endpoint.rpartition(":")[2] for endpoint in found} for found in (mine, its)]
    are_names = all(endpoint[0].isalpha() and not endpoint.startswith("localhost") for endpoint in mine | its)
    return are_names or not ports[0] & ports[1]


def _different_communicators(a: JobTraces, b: JobTraces) -> bool:
    """Each has all ranks of one. On different hosts, one host each, they can be of a job that splits its ranks."""
    mine, its = a.complete, b.complete
    if not mine or not its or a.communicators.keys() & b.communicators.keys():
        return False
    here, there = (set[str]().union(*found.values()) for found in (mine, its))
    return bool(here & there) or any(len(hosts) > 1 for found in (mine, its) for hosts in found.values())


def _other_hosts(a: JobTraces, b: JobTraces) -> bool:
    """Each shows several hosts, and none is in both: a log of one node of a job shows one."""
    return len(a.hosts) > 1 and len(b.hosts) > 1 and not a.hosts & b.hosts


def _same_ranks_elsewhere(one: JobLogs, other: JobLogs) -> bool:
    """Two or more logs of the same ranks, in folders that are not named after ranks, hosts or streams."""
    mine, its = ({name.part for name in job.names if name.part} for job in (one, other))
    folders = [{name.family.rpartition("/")[0] for name in job.names} for job in (one, other)]
    tails = [{name.family.rpartition("/")[2] for name in job.names} for job in (one, other)]
    return len(mine & its) > 1 and tails[0] == tails[1] and not folders[0] & folders[1]


def _days_between(a: JobTraces, b: JobTraces) -> bool:
    if not (a.times and b.times and a.says and b.says):
        return False
    first, second = sorted((a.times, b.times))
    began, ended = _in_a_leap_year(first[0]), _in_a_leap_year(first[1])
    began_later, ended_later = _in_a_leap_year(second[0]), _in_a_leap_year(second[1])
    if not (began and ended and began_later and ended_later):
        return False
    gap = began_later - ended
    return min(gap, _YEAR - (ended_later - began)) > APART  # the second can be of the year before


def _other_days(one: JobLogs, other: JobLogs) -> bool:
    """Named after different days, and the earlier one came to its end before the later one began."""
    days = [{name.date for name in job.names} for job in (one, other)]
    if "" in days[0] | days[1] or days[0] & days[1]:
        return False
    first, second = (job.traces for job in sorted((one, other), key=lambda job: min(n.date for n in job.names)))
    ended = first.ends_well or (first.is_over and second.begins)
    return bool(ended and first.times and second.times and first.times[1] < second.times[0])


def _in_a_leap_year(time: str) -> datetime | None:
    """None where it is no time."""
    try:
        return datetime.strptime(f"2000-{time}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
