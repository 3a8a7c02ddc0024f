"""What monitoring sees of runs: the table of metrics, and runs as samples of them. Pure.

One meaning a metric, base units, and labels whose values come from short lists: no run, job, rank or pid.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from nccltool.compare.result import Against
from nccltool.core.findings import CheckStatus
from nccltool.core.run_info import RunInfo
from nccltool.core.verdicts import Status
from nccltool.preflight.result import HostVerdict, Judged, Preflight
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import Training, TrainRun

Kind = Literal["gauge", "counter", "summary"]
CHECK_STATUSES: tuple[str, ...] = get_args(CheckStatus)
RUN_STATUSES: tuple[str, ...] = get_args(Status)
HOST_STATUSES: tuple[str, ...] = get_args(HostVerdict.__annotations__["status"])


@dataclass(frozen=True, slots=True)
class PrometheusMetric:
    """One metric: what it means, and its labels in the order of a sample's values."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric, named without prefix."""

    metric: str
    labels: tuple[str, ...]
    value: float


PREFIX = "nccltool_"
_ROW = ("op", "bytes", "dtype", "nodes", "world_size", "placement")
_MEASURED = "measurement_timestamp_seconds"

METRICS = (
    PrometheusMetric(
        "build_info", "gauge", "", "1 for the versions of the newest run.", ("version", "torch", "nccl")
    ),
    PrometheusMetric(
        "last_run_timestamp_seconds",
        "gauge",
        "seconds",
        "Unix time at which the newest run of a command began.",
        ("command",),
    ),
    PrometheusMetric(
        "last_run_success",
        "gauge",
        "",
        "1 when the newest run of a command passed or only warned; 0 when it failed, did not complete, or could "
        "not judge.",
        ("command",),
    ),
    PrometheusMetric(
        "last_run_status",
        "gauge",
        "",
        "1 for the status of the newest run of a command, 0 for the others.",
        ("command", "status"),
    ),
    PrometheusMetric(
        "last_run_duration_seconds", "gauge", "seconds", "How long the newest run of a command took.", ("command",)
    ),
    PrometheusMetric(
        "bus_bandwidth_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "Bus bandwidth (busbw) of an operation at a size, from the mean time of the slowest rank.",
        _ROW,
    ),
    PrometheusMetric(
        "bus_bandwidth_limit_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "The most that the wires allow; absent where it is not known.",
        _ROW,
    ),
    PrometheusMetric(
        "latency_seconds",
        "summary",
        "seconds",
        "Time of one call on the slowest rank: median, and 0.9 and 0.99 where there are enough samples.",
        (*_ROW, "quantile"),
    ),
    PrometheusMetric(
        "late_seconds",
        "gauge",
        "seconds",
        "How long the others waited for one rank; absent where no rank stood out.",
        _ROW,
    ),
    PrometheusMetric(
        _MEASURED,
        "gauge",
        "seconds",
        "Unix time of the oldest run that rows of an operation come from.",
        ("op", "nodes", "world_size"),
    ),
    PrometheusMetric(
        "baseline_ratio",
        "gauge",
        "",
        "Bus bandwidth over that of the baseline; absent where runs are not comparable or too noisy to tell.",
        ("op", "bytes", "nodes", "world_size"),
    ),
    PrometheusMetric(
        "wrong_elements_total",
        "counter",
        "",
        "Wrong elements that ranks received, over the runs that are exported.",
        ("op",),
    ),
    PrometheusMetric(
        "check_status",
        "gauge",
        "",
        "1 for the status of a check on a host, 0 for the others; host is empty for all hosts together.",
        ("check", "host", "status"),
    ),
    PrometheusMetric(
        "host_status",
        "gauge",
        "",
        "1 for what the newest preflight came to for a host, 0 for the others.",
        ("host", "status"),
    ),
    PrometheusMetric("suspect", "gauge", "", "1 when a host should be taken out, 0 when not.", ("host",)),
    PrometheusMetric("expected_hosts", "gauge", "", "Hosts that the newest preflight was asked about."),
    PrometheusMetric("missing_hosts", "gauge", "", "Hosts of the newest preflight that did not come."),
    PrometheusMetric(
        "train_step_seconds", "gauge", "seconds", "Mean time of a step on the slowest rank.", ("strategy",)
    ),
    PrometheusMetric(
        "train_loss_error",
        "gauge",
        "",
        "Largest difference of a loss from the reference in one process, relative to it.",
        ("strategy",),
    ),
    PrometheusMetric(
        "train_correct",
        "gauge",
        "",
        "1 when the training equals the reference, 0 when not; absent where that could not be told.",
        ("strategy",),
    ),
    PrometheusMetric(
        "train_samples_per_second",
        "gauge",
        "samples_per_second",
        "Sequences a second over all ranks.",
        ("strategy",),
    ),
    PrometheusMetric(
        "train_exposed_communication_ratio",
        "gauge",
        "",
        "Share of a step that would be saved if communication took no time.",
        ("strategy",),
    ),
    PrometheusMetric("damaged_runs", "gauge", "", "Runs in the run directory that cannot be read."),
    PrometheusMetric(
        "run_directory_readable",
        "gauge",
        "",
        "1 when the run directory could be read at the last look.",
    ),
)
"""All metrics there are, in the order of the exposition."""
_OF_ROWS = {metric.name for metric in METRICS if metric.labels[: len(_ROW)] == _ROW}


def command_of(run: Run | Preflight) -> str:
    """The command that made a run, as the label has it."""
    return run.kind if isinstance(run, Run) else "preflight"


def of_any(run: Run | Preflight) -> Iterator[Sample]:
    """All that a run of any command shows."""
    return of_run(run) if isinstance(run, Run) else of_preflight(run)


def of_run(run: Run) -> Iterator[Sample]:
    """What a run of probe or train shows."""
    yield from of_info(run.info, run.kind, run.verdict.status)
    yield from of_rows(run.info, run.measurements)
    for training in run.trainings if isinstance(run, TrainRun) else ():
        yield from of_training(training)


def of_preflight(preflight: Preflight) -> Iterator[Sample]:
    """What a preflight shows: its checks and hosts, and what it measured."""
    yield from of_info(preflight.info, "preflight", preflight.verdict.status, preflight.duration_s)
    for outcome in preflight.outcomes:
        yield from of_check(outcome)
    yield from of_hosts(preflight.hosts)
    yield from of_rows(preflight.info, preflight.measurements)
    for training in preflight.trainings:
        yield from of_training(training)


def of_info(info: RunInfo, command: str, status: Status, duration_s: float | None = None) -> Iterator[Sample]:
    """That a command ran, when, and what came of it."""
    nccl = info.backend_version if info.backend == "nccl" else None
    yield Sample("build_info", (info.nccltool, info.torch or "", nccl or ""), 1.0)
    yield from of_end(command, unix_time(info.started), status)
    seconds = info.duration_s if duration_s is None else duration_s
    if seconds is not None:
        yield Sample("last_run_duration_seconds", (command,), seconds)


def of_end(command: str, started: float, status: Status) -> Iterator[Sample]:
    """When a command began, and what came of it."""
    yield Sample("last_run_timestamp_seconds", (command,), started)
    yield Sample("last_run_success", (command,), float(status in ("pass", "warn")))
    for each in RUN_STATUSES:
        yield Sample("last_run_status", (command, each), float(each == status))


def of_rows(info: RunInfo, rows: Iterable[Measurement]) -> Iterator[Sample]:
    """What was measured. A number that is not known has no sample."""
    wrong: dict[str, int] = {}
    world = (_label(info.nodes), _label(info.world_size))
    for row in rows:
        labels = (row.op, str(row.bytes), row.dtype, *world, row.placement)
        yield Sample("bus_bandwidth_bytes_per_second", labels, row.busbw_bytes_per_s)
        if row.limit_busbw_bytes_per_s is not None:
            yield Sample("bus_bandwidth_limit_bytes_per_second", labels, row.limit_busbw_bytes_per_s)
        times = row.time_s
        for quantile, seconds in (("0.5", times.median), ("0.9", times.p90), ("0.99", times.p99)):
            if seconds is not None:
                yield Sample("latency_seconds", (*labels, quantile), seconds)
        if row.late_s is not None:
            yield Sample("late_seconds", labels, row.late_s)
        if row.wrong is not None:
            wrong[row.op] = wrong.get(row.op, 0) + row.wrong
        yield Sample(_MEASURED, (row.op, *world), unix_time(info.started))
    for op, elements in wrong.items():
        yield Sample("wrong_elements_total", (op,), float(elements))


def of_baseline(info: RunInfo, rows: Iterable[Against]) -> Iterator[Sample]:
    """Rows held against a baseline; of several forms of one operation and size the worst."""
    worst: dict[tuple[str, str, str, str], float] = {}
    for row in rows:
        if row.expected_busbw_bytes_per_s and row.status in ("pass", "warn", "fail"):
            labels = (row.key.op, str(row.key.bytes), _label(info.nodes), _label(info.world_size))
            ratio = row.measured_busbw_bytes_per_s / row.expected_busbw_bytes_per_s
            worst[labels] = min(ratio, worst.get(labels, ratio))
    for (op, size, nodes, world_size), ratio in worst.items():
        yield Sample("baseline_ratio", (op, size, nodes, world_size), ratio)


def of_training(training: Training) -> Iterator[Sample]:
    """What a smoke training shows."""
    labels = (training.strategy,)
    oracle = training.oracle
    values = {
        "train_step_seconds": training.step_time_s.mean if training.step_time_s else None,
        "train_loss_error": oracle.loss_error if oracle else None,
        "train_correct": float(oracle.ok) if oracle and oracle.ok is not None else None,
        "train_samples_per_second": training.throughput_samples_per_s,
        "train_exposed_communication_ratio": training.exposed_communication_ratio,
    }
    for name, value in values.items():
        if value is not None:
            yield Sample(name, labels, value)


def of_check(outcome: Judged) -> Iterator[Sample]:
    """The status of a check, as a set of states."""
    for status in CHECK_STATUSES:
        labels = (outcome.code, outcome.host or "", status)
        yield Sample("check_status", labels, float(status == outcome.status))


def of_hosts(hosts: Iterable[HostVerdict]) -> Iterator[Sample]:
    """What a suite came to for each host."""
    missing = expected = 0
    for host in hosts:
        expected += 1
        missing += host.status == "missing"
        yield Sample("suspect", (host.host,), float(host.exclude))
        for status in HOST_STATUSES:
            yield Sample("host_status", (host.host, status), float(status == host.status))
    yield Sample("expected_hosts", (), float(expected))
    yield Sample("missing_hosts", (), float(missing))


def merged(newest_first: Iterable[Iterable[Sample]]) -> tuple[Sample, ...]:
    """The samples of several runs as one set: of each subject what the newest run says, and no more than that.
    Counters are summed; rows of one operation are as old as the oldest of them that is shown."""
    counters = {metric.name for metric in METRICS if metric.kind == "counter"}
    kept: dict[tuple[str, tuple[str, ...]], float] = {}
    known: set[tuple[str, ...]] = set()
    for samples in newest_first:
        ours: set[tuple[str, ...]] = set()
        for sample in samples:
            key, subject = (sample.metric, sample.labels), _subject(sample)
            if sample.metric in counters:
                kept[key] = kept.get(key, 0.0) + sample.value
            elif subject not in known:  # within one run the last row counts
                kept[key] = sample.value
                ours |= {subject, _group(subject)}
            elif sample.metric == _MEASURED and ("rows", *sample.labels) in ours:
                kept[key] = min(kept[key], sample.value)
        known |= {subject for subject in ours if subject[0] != "rows"}
    return tuple(Sample(name, labels, value) for (name, labels), value in kept.items())


def _subject(sample: Sample) -> tuple[str, ...]:
    """What a sample is about: numbers of an older run do not fill what a newer one leaves open of it."""
    if sample.metric in _OF_ROWS:
        return ("row", *sample.labels[: len(_ROW)])
    family = sample.metric.partition("_")[0]
    if family in ("last", "train"):  # last_run_...{command}, train_...{strategy}
        return (family, sample.labels[0])
    return ("build",) if family == "build" else (sample.metric, *sample.labels)


def _group(subject: tuple[str, ...]) -> tuple[str, ...]:
    """The operation and world that a row belongs to, as the time of measurement is labelled; others have none."""
    return ("rows", subject[1], *subject[4:6]) if subject[0] == "row" else subject


def unix_time(started: str) -> float:
    """Seconds since 1970 of a time in RFC 3339."""
    return datetime.fromisoformat(started).timestamp()


def _label(number: int | None) -> str:
    return "" if number is None else str(number)
