"""The jobs in logs: read all logs once, tell the jobs apart, judge each of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import commonpath
from pathlib import Path

from nccltool.triage import flight_recorder, job_names, own_run, parallel_reader, run
from nccltool.triage.event_spool import EventSpool
from nccltool.triage.flight_recorder import RecorderDump
from nccltool.triage.incident import JudgedJob, TriageReport
from nccltool.triage.job_groups import JobLogs, grouped
from nccltool.triage.job_traces import JobTraces, traced
from nccltool.triage.logs.reader import LogReader, shown_name
from nccltool.triage.timeline.builder import TimelineBuilder


@dataclass(slots=True)
class _Job:
    """A job, with the dumps of its ranks."""

    logs: JobLogs
    dumps: list[RecorderDump] = field(default_factory=list)

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.logs.files, *(one.file for one in self.dumps))

    @property
    def name(self) -> str:
        first, *others = self.files or ("",)
        return self.logs.title or (f"{first} and {len(others)} more" if others else first)


def report(paths: Sequence[str], command: tuple[str, ...], trust_pickle: bool = False) -> TriageReport:
    """What the logs say of each job. Raises BadInput when one cannot be read."""
    named = own_run.folders_of(paths)
    sources = run.sources(named, trust_pickle)
    reader = LogReader(sources.inside)
    traces: dict[str, JobTraces] = {}
    is_only = len(sources.logs) == 1
    whole = TimelineBuilder()
    with EventSpool() as spool:
        events = traced(parallel_reader.events(sources.logs, reader), traces)
        (whole.take if is_only else spool.add)(events)
        jobs = _jobs(named, sources, traces)
        judged = []
        for job in jobs:
            builder = whole if is_only and job.logs.files else _built(spool, job.logs.files)
            judged.append(_judged(job, named if len(jobs) == 1 else (), builder, reader, command))
    return TriageReport.of(judged)


def _built(spool: EventSpool, files: Iterable[str]) -> TimelineBuilder:
    builder = TimelineBuilder()
    for file in files:
        builder.take(spool.of(shown_name(file)))
    return builder


def _judged(
    job: _Job, named: Sequence[str], builder: TimelineBuilder, reader: LogReader, command: tuple[str, ...]
) -> JudgedJob:
    """`named`: what the user named, where it is all of one job; `builder` has what its logs say."""
    builder.take(flight_recorder.events(job.dumps))
    builder.take(found := own_run.events(named or ((job.logs.run,) if job.logs.run else job.logs.files)))
    lines = sum(reader.lines_of[file] for file in job.logs.files)
    timeline = builder.timeline(lines + len(job.dumps) + len(found))
    files = tuple(shown_name(file) for file in job.files)
    return JudgedJob(name=shown_name(job.name), files=files, incident=run.incident(timeline, command))


def _jobs(paths: Sequence[str], sources: run.LogSources, traces: dict[str, JobTraces]) -> list[_Job]:
    runs = own_run.outermost(paths)
    hosts = {host.lower() for one in traces.values() for host in one.hosts}
    logs = [
        JobLogs(
            files=[file],
            names=[job_names.taken_apart(name, hosts)],
            traces=traces.get(shown_name(file), JobTraces()),
            run=_run_of(file, runs),
        )
        for file, name in zip(sources.logs, _inside(sources.logs), strict=True)
    ]
    jobs = [_Job(one) for one in grouped(logs)]
    with_logs = {job.logs.run for job in jobs}
    jobs += [_Job(JobLogs([], [], JobTraces(), str(folder))) for folder in runs if str(folder) not in with_logs]
    _add_dumps(jobs, _dump_sets(sources.dumps))
    return jobs or [_Job(JobLogs([], [], JobTraces()))]


def _inside(files: Sequence[str]) -> list[str]:
    """The names of files, without the folder that all are in."""
    folders = [str(Path(file).absolute().parent) for file in files if file != "-"]
    common = Path(commonpath(folders)) if folders else Path()
    return [file if file == "-" else str(Path(file).absolute().relative_to(common)) for file in files]


def _run_of(file: str, runs: Sequence[Path]) -> str:
    """The saved run to which a log belongs."""
    inside = next((str(folder) for folder in runs if folder in Path(file).parents), "")
    return inside or (str(Path(file).parent) if own_run.is_of_run(Path(file)) else "")


def _dump_sets(dumps: Iterable[RecorderDump]) -> list[list[RecorderDump]]:
    """Dumps of one job each: a job has one of a rank, and all of its ranks have the same world."""
    sets: list[list[RecorderDump]] = []
    for dump in dumps:
        fitting = [one for one in sets if all(_can_be_beside(dump, other) for other in one)]
        near = [one for one in fitting if Path(one[0].file).parent == Path(dump.file).parent]
        if fitting:
            (near or fitting)[0].append(dump)
        else:
            sets.append([dump])
    return sets


def _can_be_beside(one: RecorderDump, other: RecorderDump) -> bool:
    return one.rank != other.rank and (not one.world or not other.world or one.world == other.world)


def _add_dumps(jobs: list[_Job], sets: Sequence[list[RecorderDump]]) -> None:
    """To the only job, or the only one with a log in the same folder; else they are a job of their own."""
    with_logs = list(jobs)
    for dumps in sets:
        folders = {Path(dump.file).parent for dump in dumps}
        near = [job for job in with_logs if folders & {Path(file).parent for file in job.logs.files}]
        if len(with_logs) == 1 and len(sets) == 1:
            with_logs[0].dumps += dumps
        elif len(near) == 1 and not near[0].dumps:
            near[0].dumps += dumps
        else:
            jobs.append(_Job(JobLogs([], [], JobTraces()), dumps))
