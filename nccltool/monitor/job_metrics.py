"""What monitoring sees of a job that `nccltool attach --watch` looks at. Pure.

Labels have values from short lists: no rank, pid, or job.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from nccltool.attach.judge.result import JobState
from nccltool.attach.watch.incidents import JobIncident
from nccltool.attach.watch.loop import WatchTick
from nccltool.monitor.metrics import PrometheusMetric, Sample

_STATES: tuple[JobState, ...] = get_args(JobState)
METRICS = (
    PrometheusMetric("job_state", "1 for the state of the watched job, 0 for the other states.", ("state",)),
    PrometheusMetric("job_ranks", "Ranks of the watched job that were seen."),
    PrometheusMetric("job_step", "Newest step in the log of the watched job; absent if unknown."),
    PrometheusMetric("job_step_seconds", "Median time of its recent steps; absent if unknown."),
    PrometheusMetric(
        "job_usual_step_seconds", "Median time of a step before steps became slower; absent if they did not."
    ),
    PrometheusMetric(
        "job_suspect", "1 for a host whose rank holds the watched job up, and the cause.", ("host", "cause")
    ),
    PrometheusMetric(
        "job_incidents_total", "Times that the watched job became slow or hung.", ("state",), kind="counter"
    ),
    PrometheusMetric(
        "job_incident", "1 while the watched job is in an incident of this state, else 0.", ("state",)
    ),
    PrometheusMetric("job_looked_timestamp_seconds", "Unix time of the newest look at the watched job."),
    PrometheusMetric("job_watch_cores", "CPU cores that watching takes for each rank, on average."),
)
"""Of a watch, in the order of the exposition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedJob:
    """What metrics are taken from."""

    tick: WatchTick
    incidents: tuple[JobIncident, ...] = ()


def samples(watched: WatchedJob) -> tuple[Sample, ...]:
    return tuple(_samples(watched))


def _samples(watched: WatchedJob) -> Iterator[Sample]:
    tick, progress = watched.tick, watched.tick.progress
    for state in _STATES:
        yield Sample("job_state", (state,), float(state == tick.state))
    numbers = (
        ("job_ranks", tick.ranks),
        ("job_step", progress.step),
        ("job_step_seconds", progress.step_s),
        ("job_usual_step_seconds", progress.usual_step_s),
        ("job_looked_timestamp_seconds", tick.at_s),
        ("job_watch_cores", tick.cost),
    )
    for name, value in numbers:
        if value is not None:
            yield Sample(name, (), float(value))
    if tick.report is not None and tick.state in ("slow", "hung"):
        likely = ((one.host, one.cause) for one in tick.report.answer.culprits if one.level != "low" and one.host)
        for labels in dict.fromkeys(likely):
            yield Sample("job_suspect", labels, 1.0)
    counts = Counter(one.state for one in watched.incidents)
    open_now = {one.state for one in watched.incidents if one.ended_s is None}
    for state in ("slow", "hung"):
        yield Sample("job_incidents_total", (state,), float(counts[state]))
        yield Sample("job_incident", (state,), float(state in open_now))
