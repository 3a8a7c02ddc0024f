"""What monitoring sees of runs: the table of metrics, each with how it is taken from a run. Pure.

One meaning a metric, base units, and labels whose values come from short lists: no run, job, rank or pid.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from nccltool.compare.result import Against
from nccltool.core.documents import RunInfo
from nccltool.core.errors import BadInput
from nccltool.core.findings import CheckStatus
from nccltool.core.verdicts import Status
from nccltool.preflight.result import CheckOutcome, HostStatus, HostVerdict, Preflight
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import TrainingResult, TrainRun

Kind = Literal["gauge", "counter", "unknown"]
"""unknown: quantiles without sum and count. As a summary, node_exporter and the push gateway would add both, as 0;
as a gauge, promtool refuses the label `quantile`."""
About = Literal["build", "command", "row", "group", "training"]
PREFIX = "nccltool_"
CLUSTER = "cluster"
"""The label that all metrics have where a cluster is named."""
_CLUSTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,127}", re.ASCII)
_ROW = ("op", "bytes", "dtype", "nodes", "world_size", "placement")
_MEASURED = "measurement_timestamp_seconds"
_KEYS: dict[About, int] = {"build": 0, "command": 1, "row": len(_ROW), "group": len(_ROW) + 1, "training": 1}
"""Labels that name what a metric is about."""
_UNITS = ("bytes_per_second", "samples_per_second", "seconds")
_STATUSES = ("pass", "warn", "fail", "unknown", "skip", "incomplete", "missing", "undetermined")
STATUS_NUMBERS = {status: number for number, status in enumerate(_STATUSES)}
"""A status as a number, the same in all metrics: one series for each check, whatever it finds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedRun:
    """What metrics are taken from: a run of any command, or what is known of one that did not end in order."""

    command: str
    """That made it, as the label has it."""
    started: float
    """Unix time."""
    status: Status
    info: RunInfo | None = None
    duration_s: float | None = None
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    hosts: tuple[HostVerdict, ...] | None = None
    """None = it was no preflight."""
    baseline: tuple[Against, ...] = ()
    """Its rows, held against a baseline."""

    @property
    def world(self) -> tuple[str, str]:
        """Nodes and ranks, as labels; empty where they are not known."""
        nodes, size = (self.info.nodes, self.info.world_size) if self.info else (None, None)
        return "" if nodes is None else str(nodes), "" if size is None else str(size)

    def brief(self) -> "ExportedRun":
        """That it was, and what came of it: its numbers are too old."""
        return replace(self, measurements=(), trainings=(), checks=(), hosts=None, baseline=())


def exported(run: Run | Preflight, baseline: Iterable[Against] = ()) -> ExportedRun:
    """What metrics are taken from, of a run of any command."""
    suite = run if isinstance(run, Preflight) else None
    return ExportedRun(
        command=run.kind,
        started=unix_time(run.info.started),
        status=run.verdict.status,
        info=run.info,
        duration_s=suite.duration_s if suite else run.info.duration_s,
        measurements=run.measurements,
        trainings=run.trainings if isinstance(run, TrainRun | Preflight) else (),
        checks=suite.outcomes if suite else (),
        hosts=suite.hosts if suite else None,
        baseline=tuple(baseline),
    )


def cluster_name(name: str | None) -> str:
    """The cluster that --cluster names; empty = none. Raises BadInput."""
    if name is not None and not _CLUSTER_NAME.fullmatch(name):
        raise BadInput(
            f"--cluster {name[:80]!r} is not a cluster name",
            "use up to 128 letters, digits and ._-:/@, beginning with a letter or digit",
        )
    return name or ""


def unix_time(started: str) -> float:
    """Seconds since 1970 of a time in RFC 3339."""
    return datetime.fromisoformat(started).timestamp()


Values: TypeAlias = Iterable[tuple[tuple[str, ...], float | None]]
"""Of a metric: the values of its labels, and the number; None = it is not known, and not shown."""


@dataclass(frozen=True, slots=True)
class PrometheusMetric:
    """One metric: what it means, its labels in the order of a sample's values, and how it is taken from a run."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    take: Callable[[ExportedRun], Values] = lambda run: ()
    about: About | None = None
    """With what it is one statement: of that, an older run adds nothing. None = with itself."""
    kind: Kind = "gauge"

    @property
    def unit(self) -> str:
        """The end of its name, where that is a unit."""
        return next((unit for unit in _UNITS if self.name.endswith(f"_{unit}")), "")


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric, named without prefix."""

    metric: str
    labels: tuple[str, ...]
    value: float


def samples(run: ExportedRun) -> tuple[Sample, ...]:
    return tuple(
        Sample(metric.name, labels, float(value))
        for metric in METRICS
        for labels, value in metric.take(run)
        if value is not None
    )


def _build(run: ExportedRun) -> Values:
    if run.info:
        nccl = run.info.backend_version if run.info.backend == "nccl" else None
        yield (run.info.nccltool, run.info.torch or "", nccl or ""), 1.0


def _whole(run: ExportedRun) -> Iterator[Measurement]:
    """The rows of all ranks: the labels do not tell those of groups apart."""
    return (row for row in run.measurements if row.group is None)


def _of_groups(run: ExportedRun) -> Iterator[tuple[Measurement, str]]:
    """The rows of groups that ran at the same time, and their groups: of each operation, only those of the
    largest size, as there may be as many groups as hosts."""
    rows = [(row, row.group.name) for row in run.measurements if row.group and not row.group.alone]
    largest: dict[str, int] = {}
    for row, _ in rows:
        largest[row.op] = max(row.bytes, largest.get(row.op, 0))
    return ((row, name) for row, name in rows if row.bytes == largest[row.op])


def _row_labels(run: ExportedRun, row: Measurement) -> tuple[str, ...]:
    return (row.op, str(row.bytes), row.dtype, *run.world, row.placement)


def _latency(run: ExportedRun) -> Values:
    for row in _whole(run):
        for quantile, seconds in (("0.5", row.time_s.median), ("0.9", row.time_s.p90), ("0.99", row.time_s.p99)):
            yield (*_row_labels(run, row), quantile), seconds


def _group_bandwidth(run: ExportedRun) -> Values:
    return (((*_row_labels(run, row), name), row.busbw_bytes_per_s) for row, name in _of_groups(run))


def _measured_at(run: ExportedRun) -> Values:
    rows = (*_whole(run), *(row for row, _ in _of_groups(run)))
    return (((row.op, *run.world), run.started) for row in rows)


def _wrong(run: ExportedRun) -> Values:
    wrong = Counter[str]()
    for row in run.measurements:
        if row.wrong is not None:
            wrong[row.op] += row.wrong
    return (((op,), elements) for op, elements in wrong.items())


def _baseline_ratio(run: ExportedRun) -> Values:
    """Of several forms of one operation and size the worst."""
    worst: dict[tuple[str, ...], float] = {}
    for row in run.baseline:
        if not row.key.of_group and row.expected_busbw_bytes_per_s and row.status in ("pass", "warn", "fail"):
            labels = (row.key.op, str(row.key.bytes), *run.world)
            ratio = row.measured_busbw_bytes_per_s / row.expected_busbw_bytes_per_s
            worst[labels] = min(ratio, worst.get(labels, ratio))
    return worst.items()


def _numbers(statuses: Any) -> str:
    """Those of a Literal, for the help of a metric."""
    return ", ".join(f"{STATUS_NUMBERS[status]} {status}" for status in get_args(statuses))


def _of_command(name: str, text: str, number: Callable[[ExportedRun], float | None]) -> PrometheusMetric:
    return PrometheusMetric(name, text, ("command",), lambda run: [((run.command,), number(run))], "command")


def _of_row(name: str, text: str, number: Callable[[Measurement], float | None]) -> PrometheusMetric:
    def take(run: ExportedRun) -> Values:
        return ((_row_labels(run, row), number(row)) for row in _whole(run))

    return PrometheusMetric(name, text, _ROW, take, "row")


def _of_training(name: str, text: str, number: Callable[[TrainingResult], float | None]) -> PrometheusMetric:
    def take(run: ExportedRun) -> Values:
        return (((training.strategy,), number(training)) for training in run.trainings)

    return PrometheusMetric(name, text, ("strategy",), take, "training")


def _of_hosts(name: str, text: str, number: Callable[[tuple[HostVerdict, ...]], float]) -> PrometheusMetric:
    return PrometheusMetric(name, text, (), lambda run: [((), None if run.hosts is None else number(run.hosts))])


METRICS = (
    PrometheusMetric(
        "build_info",
        "Always 1; the labels are the versions of the newest run.",
        ("version", "torch", "nccl"),
        _build,
        "build",
    ),
    _of_command(
        "last_run_timestamp_seconds",
        "Unix time at which the newest run of a command started.",
        lambda run: run.started,
    ),
    _of_command(
        "last_run_success",
        "1 if the newest run of a command passed, with or without warnings; 0 if it failed, was incomplete, or "
        "was inconclusive.",
        lambda run: run.status in ("pass", "warn"),
    ),
    _of_command(
        "last_run_status",
        f"Status of the newest run of a command: {_numbers(Status)}.",
        lambda run: STATUS_NUMBERS[run.status],
    ),
    _of_command(
        "last_run_duration_seconds", "Duration of the newest run of a command.", lambda run: run.duration_s
    ),
    _of_row(
        "bus_bandwidth_bytes_per_second",
        "Bus bandwidth (busbw) per operation and size, from the mean time of the slowest rank.",
        lambda row: row.busbw_bytes_per_s,
    ),
    _of_row(
        "bus_bandwidth_limit_bytes_per_second",
        "Bus bandwidth limit of the links; absent if unknown.",
        lambda row: row.limit_busbw_bytes_per_s,
    ),
    PrometheusMetric(
        "group_bus_bandwidth_bytes_per_second",
        "Bus bandwidth of a group of `probe --split` while all groups run, at the largest size of an operation.",
        (*_ROW, "group"),
        _group_bandwidth,
        "group",
    ),
    PrometheusMetric(
        "latency_seconds",
        "Time of one call on the slowest rank: median, and 0.9 and 0.99 if there are enough samples.",
        (*_ROW, "quantile"),
        _latency,
        "row",
        "unknown",
    ),
    _of_row(
        "late_seconds",
        "Time that the other ranks waited for the late rank; absent if no rank was clearly late.",
        lambda row: row.late_s,
    ),
    PrometheusMetric(
        _MEASURED,
        "Unix time of the oldest run that contributes rows of an operation.",
        ("op", "nodes", "world_size"),
        _measured_at,
    ),
    PrometheusMetric(
        "baseline_ratio",
        "Bus bandwidth divided by that of the baseline, both from mean times; absent if runs are not comparable "
        "or too noisy to tell.",
        ("op", "bytes", "nodes", "world_size"),
        _baseline_ratio,
    ),
    PrometheusMetric(
        "wrong_elements_total",
        "Wrong elements that ranks received, summed over the exported runs.",
        ("op",),
        _wrong,
        kind="counter",
    ),
    PrometheusMetric(
        "check_status",
        f"Status of a check on a host: {_numbers(CheckStatus)}; host is empty for a check that covers all hosts "
        "together.",
        ("check", "host"),
        lambda run: (((one.code, one.host or ""), STATUS_NUMBERS[one.status]) for one in run.checks),
    ),
    PrometheusMetric(
        "host_status",
        f"Verdict of the newest preflight on a host: {_numbers(HostStatus)}.",
        ("host",),
        lambda run: (((host.host,), STATUS_NUMBERS[host.status]) for host in run.hosts or ()),
    ),
    PrometheusMetric(
        "suspect",
        "1 if a host should be drained, 0 if not.",
        ("host",),
        lambda run: [((host.host,), host.exclude) for host in run.hosts or ()],
    ),
    _of_hosts("expected_hosts", "Hosts that the newest preflight expected.", len),
    _of_hosts(
        "missing_hosts",
        "Hosts that the newest preflight expected and that did not report.",
        lambda hosts: sum(host.status == "missing" for host in hosts),
    ),
    _of_training(
        "train_step_seconds",
        "Mean step time on the slowest rank.",
        lambda training: training.step_time_s.seconds if training.step_time_s else None,
    ),
    _of_training(
        "train_loss_error",
        "Largest relative difference between a loss and the single-process reference.",
        lambda training: training.oracle.loss_error if training.oracle else None,
    ),
    _of_training(
        "train_correct",
        "1 if the training run matches the reference, 0 if not; absent if inconclusive.",
        lambda training: training.oracle.ok if training.oracle else None,
    ),
    _of_training(
        "train_samples_per_second",
        "Sequences per second across all ranks.",
        lambda training: training.throughput_samples_per_s,
    ),
    _of_training(
        "train_exposed_communication_ratio",
        "Share of the step time that would be saved if communication took no time.",
        lambda training: training.exposed_communication_ratio,
    ),
    PrometheusMetric("damaged_runs", "Runs in the run directory that cannot be read."),
    PrometheusMetric("run_directory_readable", "1 if the run directory was readable at the last scan, 0 if not."),
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
    return ("rows", subject[1], *subject[4:6]) if subject[0] in ("row", "group") else subject
