"""What monitoring sees of runs: the table of metrics, each with how it is taken from a run. Pure.

One meaning a metric, base units, and labels whose values come from short lists: no run, job, rank or pid.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from nccltool.core.findings import CheckStatus
from nccltool.core.verdicts import Status
from nccltool.monitor.exported_run import ExportedRun
from nccltool.preflight.result import HostVerdict
from nccltool.probe.result import Measurement
from nccltool.train.result import TrainingResult

Kind = Literal["gauge", "counter", "summary"]
About = Literal["build", "command", "row", "training"]
CHECK_STATUSES: tuple[str, ...] = get_args(CheckStatus)
RUN_STATUSES: tuple[str, ...] = get_args(Status)
HOST_STATUSES: tuple[str, ...] = get_args(HostVerdict.__annotations__["status"])
PREFIX = "nccltool_"
Values: TypeAlias = Iterable[tuple[tuple[str, ...], float]]
"""Of a metric: the values of its labels, and the number."""


@dataclass(frozen=True, slots=True)
class PrometheusMetric:
    """One metric: what it means, its labels in the order of a sample's values, and how it is taken from a run."""

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    take: Callable[[ExportedRun], Values] = lambda run: ()
    """A number that is not known has no value."""
    about: About | None = None
    """With what it is one statement: of that, an older run adds nothing. None = with itself."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric, named without prefix."""

    metric: str
    labels: tuple[str, ...]
    value: float


def samples(run: ExportedRun) -> tuple[Sample, ...]:
    """All that a run shows."""
    return tuple(Sample(metric.name, labels, value) for metric in METRICS for labels, value in metric.take(run))


def _build(run: ExportedRun) -> Values:
    if run.info:
        nccl = run.info.backend_version if run.info.backend == "nccl" else None
        yield (run.info.nccltool, run.info.torch or "", nccl or ""), 1.0


def _row_labels(run: ExportedRun, row: Measurement) -> tuple[str, ...]:
    return (row.op, str(row.bytes), row.dtype, *run.world, row.placement)


def _of_rows(number: Callable[[Measurement], float | None]) -> Callable[[ExportedRun], Values]:
    def take(run: ExportedRun) -> Values:
        numbers = ((_row_labels(run, row), number(row)) for row in run.measurements)
        return ((labels, value) for labels, value in numbers if value is not None)

    return take


def _latency(run: ExportedRun) -> Values:
    for row in run.measurements:
        for quantile, seconds in (("0.5", row.time_s.median), ("0.9", row.time_s.p90), ("0.99", row.time_s.p99)):
            if seconds is not None:
                yield (*_row_labels(run, row), quantile), seconds


def _wrong(run: ExportedRun) -> Values:
    wrong = Counter[str]()
    for row in run.measurements:
        if row.wrong is not None:
            wrong[row.op] += row.wrong
    return (((op,), float(elements)) for op, elements in wrong.items())


def _baseline_ratio(run: ExportedRun) -> Values:
    """Of several forms of one operation and size the worst."""
    worst: dict[tuple[str, ...], float] = {}
    for row in run.baseline:
        if row.expected_busbw_bytes_per_s and row.status in ("pass", "warn", "fail"):
            labels = (row.key.op, str(row.key.bytes), *run.world)
            ratio = row.measured_busbw_bytes_per_s / row.expected_busbw_bytes_per_s
            worst[labels] = min(ratio, worst.get(labels, ratio))
    return worst.items()


def _of_trainings(number: Callable[[TrainingResult], float | None]) -> Callable[[ExportedRun], Values]:
    def take(run: ExportedRun) -> Values:
        numbers = ((training.strategy, number(training)) for training in run.trainings)
        return (((strategy,), float(value)) for strategy, value in numbers if value is not None)

    return take


def _of_hosts(number: Callable[[tuple[HostVerdict, ...]], float]) -> Callable[[ExportedRun], Values]:
    return lambda run: () if run.hosts is None else (((), number(run.hosts)),)


def _states(labels: tuple[str, ...], status: str, of: tuple[str, ...]) -> Values:
    """A set of states: 1 for the one that is."""
    return (((*labels, each), float(each == status)) for each in of)


_ROW = ("op", "bytes", "dtype", "nodes", "world_size", "placement")
_MEASURED = "measurement_timestamp_seconds"
_KEYS: dict[About, int] = {"build": 0, "command": 1, "row": len(_ROW), "training": 1}
"""Labels that name what a metric is about."""

METRICS = (
    PrometheusMetric(
        "build_info",
        "gauge",
        "",
        "1 for the versions of the newest run.",
        ("version", "torch", "nccl"),
        _build,
        "build",
    ),
    PrometheusMetric(
        "last_run_timestamp_seconds",
        "gauge",
        "seconds",
        "Unix time at which the newest run of a command began.",
        ("command",),
        lambda run: [((run.command,), run.started)],
        "command",
    ),
    PrometheusMetric(
        "last_run_success",
        "gauge",
        "",
        "1 when the newest run of a command passed or only warned; 0 when it failed, did not complete, or could "
        "not judge.",
        ("command",),
        lambda run: [((run.command,), float(run.status in ("pass", "warn")))],
        "command",
    ),
    PrometheusMetric(
        "last_run_status",
        "gauge",
        "",
        "1 for the status of the newest run of a command, 0 for the others.",
        ("command", "status"),
        lambda run: _states((run.command,), run.status, RUN_STATUSES),
        "command",
    ),
    PrometheusMetric(
        "last_run_duration_seconds",
        "gauge",
        "seconds",
        "How long the newest run of a command took.",
        ("command",),
        lambda run: [] if run.duration_s is None else [((run.command,), run.duration_s)],
        "command",
    ),
    PrometheusMetric(
        "bus_bandwidth_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "Bus bandwidth (busbw) of an operation at a size, from the mean time of the slowest rank.",
        _ROW,
        _of_rows(lambda row: row.busbw_bytes_per_s),
        "row",
    ),
    PrometheusMetric(
        "bus_bandwidth_limit_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "The most that the wires allow; absent where it is not known.",
        _ROW,
        _of_rows(lambda row: row.limit_busbw_bytes_per_s),
        "row",
    ),
    PrometheusMetric(
        "latency_seconds",
        "summary",
        "seconds",
        "Time of one call on the slowest rank: median, and 0.9 and 0.99 where there are enough samples.",
        (*_ROW, "quantile"),
        _latency,
        "row",
    ),
    PrometheusMetric(
        "late_seconds",
        "gauge",
        "seconds",
        "How long the others waited for one rank; absent where no rank stood out.",
        _ROW,
        _of_rows(lambda row: row.late_s),
        "row",
    ),
    PrometheusMetric(
        _MEASURED,
        "gauge",
        "seconds",
        "Unix time of the oldest run that rows of an operation come from.",
        ("op", "nodes", "world_size"),
        lambda run: [((row.op, *run.world), run.started) for row in run.measurements],
    ),
    PrometheusMetric(
        "baseline_ratio",
        "gauge",
        "",
        "Bus bandwidth over that of the baseline; absent where runs are not comparable or too noisy to tell.",
        ("op", "bytes", "nodes", "world_size"),
        _baseline_ratio,
    ),
    PrometheusMetric(
        "wrong_elements_total",
        "counter",
        "",
        "Wrong elements that ranks received, over the runs that are exported.",
        ("op",),
        _wrong,
    ),
    PrometheusMetric(
        "check_status",
        "gauge",
        "",
        "1 for the status of a check on a host, 0 for the others; host is empty for all hosts together.",
        ("check", "host", "status"),
        lambda run: (
            pair for one in run.checks for pair in _states((one.code, one.host or ""), one.status, CHECK_STATUSES)
        ),
    ),
    PrometheusMetric(
        "host_status",
        "gauge",
        "",
        "1 for what the newest preflight came to for a host, 0 for the others.",
        ("host", "status"),
        lambda run: (
            pair for host in run.hosts or () for pair in _states((host.host,), host.status, HOST_STATUSES)
        ),
    ),
    PrometheusMetric(
        "suspect",
        "gauge",
        "",
        "1 when a host should be taken out, 0 when not.",
        ("host",),
        lambda run: [((host.host,), float(host.exclude)) for host in run.hosts or ()],
    ),
    PrometheusMetric(
        "expected_hosts", "gauge", "", "Hosts that the newest preflight was asked about.", (), _of_hosts(len)
    ),
    PrometheusMetric(
        "missing_hosts",
        "gauge",
        "",
        "Hosts of the newest preflight that did not come.",
        (),
        _of_hosts(lambda hosts: sum(host.status == "missing" for host in hosts)),
    ),
    PrometheusMetric(
        "train_step_seconds",
        "gauge",
        "seconds",
        "Mean time of a step on the slowest rank.",
        ("strategy",),
        _of_trainings(lambda training: training.step_time_s.mean if training.step_time_s else None),
        "training",
    ),
    PrometheusMetric(
        "train_loss_error",
        "gauge",
        "",
        "Largest difference of a loss from the reference in one process, relative to it.",
        ("strategy",),
        _of_trainings(lambda training: training.oracle.loss_error if training.oracle else None),
        "training",
    ),
    PrometheusMetric(
        "train_correct",
        "gauge",
        "",
        "1 when the training equals the reference, 0 when not; absent where that could not be told.",
        ("strategy",),
        _of_trainings(lambda training: training.oracle.ok if training.oracle else None),
        "training",
    ),
    PrometheusMetric(
        "train_samples_per_second",
        "gauge",
        "samples_per_second",
        "Sequences a second over all ranks.",
        ("strategy",),
        _of_trainings(lambda training: training.throughput_samples_per_s),
        "training",
    ),
    PrometheusMetric(
        "train_exposed_communication_ratio",
        "gauge",
        "",
        "Share of a step that would be saved if communication took no time.",
        ("strategy",),
        _of_trainings(lambda training: training.exposed_communication_ratio),
        "training",
    ),
    PrometheusMetric("damaged_runs", "gauge", "", "Runs in the run directory that cannot be read."),
    PrometheusMetric(
        "run_directory_readable", "gauge", "", "1 when the run directory could be read at the last look."
    ),
)
"""All metrics there are, in the order of the exposition; the last two are those of the run directory."""
BY_NAME = {metric.name: metric for metric in METRICS}


def merged(newest_first: Iterable[Iterable[Sample]]) -> tuple[Sample, ...]:
    """The samples of several runs as one set: of each subject what the newest run says, and no more than that.
    Counters are summed; rows of one operation are as old as the oldest of them that is shown."""
    kept: dict[tuple[str, tuple[str, ...]], float] = {}
    known: set[tuple[str, ...]] = set()
    for samples in newest_first:
        ours: set[tuple[str, ...]] = set()
        for sample in samples:
            key, subject = (sample.metric, sample.labels), _subject(sample)
            if BY_NAME[sample.metric].kind == "counter":
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
    about = BY_NAME[sample.metric].about
    if about is None:
        return (sample.metric, *sample.labels)
    return (about, *sample.labels[: _KEYS[about]])


def _group(subject: tuple[str, ...]) -> tuple[str, ...]:
    """The operation and world that a row belongs to, as the time of measurement is labelled; others have none."""
    return ("rows", subject[1], *subject[4:6]) if subject[0] == "row" else subject
