"""Metrics: what the table may hold, and runs as samples."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from nccltool.compare.result import Against, RowKey
from nccltool.core.findings import CheckStatus
from nccltool.core.verdicts import Status, Verdict
from nccltool.monitor import metrics
from nccltool.monitor.metrics import METRICS, Sample
from nccltool.preflight.result import Check, CheckOutcome, HostStatus, HostVerdict, Preflight
from nccltool.probe.result import Measurement, RowGroup, Run
from nccltool.train.result import Oracle, TrainingResult, TrainRun
from tests import samples

BY_NAME = {metric.name: metric for metric in METRICS}
LABELS = {
    *("version", "torch", "nccl", "command", "op", "bytes", "dtype", "nodes", "world_size", "placement"),
    *("quantile", "check", "host", "strategy", "group"),
}


@pytest.mark.parametrize("metric", METRICS, ids=[metric.name for metric in METRICS])
def test_a_metric_keeps_to_the_rules_of_prometheus(metric: metrics.PrometheusMetric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert metric.name.endswith(metric.unit)
    assert metric.help.endswith(".")
    assert set(metric.labels) <= LABELS  # short lists of values: no run, job, rank or pid


def test_no_name_is_used_twice() -> None:
    assert len(BY_NAME) == len(METRICS)


def training(**changes: object) -> TrainingResult:
    values = {
        "strategy": "ddp",
        "status": "pass",
        "reason": "",
        "steps": (),
        "oracle": Oracle(
            ok=True,
            max_abs_error=1e-6,
            tolerance=1e-5,
            loss_error=2e-7,
            gradient_error=None,
            parameter_error=None,
            relative_tolerance=1e-5,
            rule="",
        ),
        "step_time_s": samples.stats(0.02),
        "throughput_samples_per_s": 400.0,
        "throughput_tokens_per_s": None,
        "exposed_communication_ratio": 0.25,
        "exposed_communication_method": "",
        "scaling_efficiency": None,
        "slowest_rank": None,
        "peak_memory_bytes": (),
    }
    return TrainingResult(**{**values, **changes})  # type: ignore[arg-type]


def preflight(*hosts: HostVerdict, outcomes: tuple[CheckOutcome, ...] = ()) -> Preflight:
    return Preflight(
        info=samples.info(),
        verdict=Verdict(status="fail", exit_code=1),
        suite="smoke",
        outcomes=outcomes,
        hosts=hosts,
        findings=(),
        runs=(),
        duration_s=12.5,
    )


ALPHA = HostVerdict(host="alpha", status="pass", reason="", exclude=False)
BETA = HostVerdict(host="beta", status="fail", reason="memlock is 64 KiB", exclude=True)
GAMMA = HostVerdict(host="gamma", status="missing", reason="no answer", exclude=False)
CHECK = CheckOutcome(check=Check(stage="doctor", name="LIM-001"), host="beta", status="fail")


def of(found: object, name: str) -> dict[tuple[str, ...], float]:
    return {sample.labels: sample.value for sample in found if sample.metric == name}  # type: ignore[attr-defined]


def seen(run: Run | Preflight) -> tuple[Sample, ...]:
    return metrics.samples(metrics.exported(run))


def trained(one: TrainingResult, *rows: Measurement) -> TrainRun:
    verdict = samples.good_run().verdict
    return TrainRun(info=samples.info(), verdict=verdict, findings=(), measurements=rows, trainings=(one,))


def end(started: float, status: Status) -> tuple[Sample, ...]:
    return metrics.samples(metrics.ExportedRun(command="probe", started=started, status=status))


def test_every_sample_has_the_labels_of_its_metric() -> None:
    row = samples.measurement(late_s=0.001, late_rank=1, limit_busbw_bytes_per_s=1e9, wrong=3)
    of_group = group_row("node 0", 2**20, 5e9)
    every = [*seen(trained(training(), row, of_group)), *seen(preflight(ALPHA, BETA, GAMMA, outcomes=(CHECK,)))]
    assert all(len(sample.labels) == len(BY_NAME[sample.metric].labels) for sample in every)
    not_of_runs = {"baseline_ratio", "damaged_runs", "run_directory_readable"}
    assert {sample.metric for sample in every} == set(BY_NAME) - not_of_runs


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("bus_bandwidth_bytes_per_second", (), None),
        ("latency_seconds", ("0.5",), 0.002),
        ("latency_seconds", ("0.9",), 0.003),
    ],
)
def test_a_row_is_its_numbers(name: str, labels: tuple[str, ...], value: float | None) -> None:
    row = samples.measurement()
    found = of(list(seen(replace(samples.good_run(), measurements=(row,)))), name)
    key = ("all_reduce", "1048576", "float32", "2", "4", row.placement, *labels)
    assert found[key] == pytest.approx(value if value is not None else row.busbw_bytes_per_s)


def group_row(name: str, size: int, busbw: float, *, alone: bool = False) -> Measurement:
    group = RowGroup(name=name, world_size=2, alone=alone)
    return samples.measurement(bytes=size, busbw_bytes_per_s=busbw, group=group, late_s=0.001, late_rank=1)


def test_groups_have_the_bandwidth_of_the_largest_size_and_nothing_else() -> None:
    rows = [
        *(group_row("node 0", 8, 1e6), group_row("node 1", 8, 2e6)),
        *(group_row("node 0", 2**20, 5e9), group_row("node 1", 2**20, 3e9)),
        group_row("node 1", 2**20, 6e9, alone=True),
    ]
    found = seen(replace(samples.good_run(), measurements=tuple(rows)))
    bandwidths = of(found, "group_bus_bandwidth_bytes_per_second")
    assert {labels[-1]: value for labels, value in bandwidths.items()} == {"node 0": 5e9, "node 1": 3e9}
    assert {sample.metric for sample in found if "op" in BY_NAME[sample.metric].labels} == {
        *("group_bus_bandwidth_bytes_per_second", "measurement_timestamp_seconds", "wrong_elements_total")
    }


def test_groups_of_an_older_run_are_as_old_as_it_is() -> None:
    row, when = ("all_reduce", "8", "float32", "2", "4", "in-place"), ("all_reduce", "2", "4")
    newest = [
        Sample("bus_bandwidth_bytes_per_second", row, 1.0),
        Sample("measurement_timestamp_seconds", when, 300),
    ]
    older = [
        Sample("group_bus_bandwidth_bytes_per_second", (*row, "node 0"), 2.0),
        Sample("measurement_timestamp_seconds", when, 200),
    ]
    found = metrics.merged([newest, older])
    assert of(found, "measurement_timestamp_seconds") == {when: 200}
    assert len(found) == 3


def test_what_is_not_known_has_no_sample() -> None:
    row = samples.measurement(wrong=None, late_s=None, limit_busbw_bytes_per_s=None)
    found = list(seen(replace(samples.good_run(), measurements=(row,))))
    names = {sample.metric for sample in found}
    assert not names & {"wrong_elements_total", "late_seconds", "bus_bandwidth_limit_bytes_per_second"}
    assert not [labels for labels in of(found, "latency_seconds") if labels[-1] == "0.99"]


@pytest.mark.parametrize(
    ("status", "success", "number"),
    [("pass", 1, 0), ("warn", 1, 1), ("fail", 0, 2), ("incomplete", 0, 5), ("unknown", 0, 3)],
)
def test_success_is_a_judged_and_healthy_run(status: str, success: int, number: int) -> None:
    run = replace(samples.good_run(), verdict=Verdict(status=status, exit_code=0))  # type: ignore[arg-type]
    found = list(seen(run))
    assert of(found, "last_run_success") == {("probe",): success}
    assert of(found, "last_run_status") == {("probe",): number}


def test_every_status_has_one_number() -> None:
    statuses = {word for literal in (Status, CheckStatus, HostStatus) for word in get_args(literal)}
    assert set(metrics.STATUS_NUMBERS) == statuses
    assert len(set(metrics.STATUS_NUMBERS.values())) == len(statuses)


def test_a_host_and_a_check_have_one_series_each() -> None:
    found = list(seen(preflight(ALPHA, BETA, GAMMA, outcomes=(CHECK,))))
    assert of(found, "suspect") == {("alpha",): 0, ("beta",): 1, ("gamma",): 0}
    assert of(found, "host_status") == {("alpha",): 0, ("beta",): 2, ("gamma",): 6}
    assert of(found, "expected_hosts") == {(): 3}
    assert of(found, "missing_hosts") == {(): 1}
    assert of(found, "last_run_duration_seconds") == {("preflight",): 12.5}
    assert of(found, "check_status") == {("doctor/LIM-001", "beta"): 2}


def test_a_training_that_was_not_compared_is_neither_right_nor_wrong() -> None:
    found = list(seen(trained(training(oracle=None, step_time_s=None))))
    assert {sample.metric for sample in found if BY_NAME[sample.metric].about == "training"} == {
        "train_samples_per_second",
        "train_exposed_communication_ratio",
    }


def test_of_several_runs_the_newest_number_counts_and_counters_add_up() -> None:
    newest = [Sample("build_info", ("2", "", ""), 1), Sample("suspect", ("a",), 1.0)]
    older = [
        *(Sample("build_info", ("1", "", ""), 1), Sample("suspect", ("a",), 9.0)),
        *(Sample("suspect", ("b",), 3.0), Sample("wrong_elements_total", ("op",), 2)),
    ]
    oldest = [Sample("wrong_elements_total", ("op",), 5), Sample("suspect", ("b",), 7.0)]
    assert set(metrics.merged([newest, older, oldest])) == {
        Sample("build_info", ("2", "", ""), 1),
        Sample("suspect", ("a",), 1.0),
        Sample("suspect", ("b",), 3.0),
        Sample("wrong_elements_total", ("op",), 7),
    }


def test_an_older_run_does_not_fill_what_a_newer_one_leaves_open() -> None:
    row = ("all_reduce", "8", "float32", "2", "4", "in-place")
    newest = [
        *(Sample("bus_bandwidth_bytes_per_second", row, 5.0), Sample("train_samples_per_second", ("ddp",), 7.0)),
        *end(100.0, "incomplete"),
    ]
    older = [
        *(Sample("late_seconds", row, 9.0), Sample("latency_seconds", (*row, "0.99"), 9.0)),
        *(Sample("train_correct", ("ddp",), 1.0), Sample("train_correct", ("fsdp",), 1.0)),
        *(*end(50.0, "pass"), Sample("last_run_duration_seconds", ("probe",), 3.0)),
    ]
    assert set(metrics.merged([newest, older])) == {*newest, Sample("train_correct", ("fsdp",), 1.0)}


def test_rows_of_several_runs_are_as_old_as_the_oldest_that_is_shown() -> None:
    def run(started: float, *sizes: str) -> list[Sample]:
        rows = [("all_reduce", size, "float32", "2", "4", "in-place") for size in sizes]
        speeds = [Sample("bus_bandwidth_bytes_per_second", row, started) for row in rows]
        return [*speeds, Sample("measurement_timestamp_seconds", ("all_reduce", "2", "4"), started)]

    found = list(metrics.merged([run(300, "8"), run(200, "8", "16"), run(100, "8", "16")]))
    assert of(found, "measurement_timestamp_seconds") == {("all_reduce", "2", "4"): 200}
    assert sorted(of(found, "bus_bandwidth_bytes_per_second").values()) == [200, 300]


def baseline_row(status: str, measured: float, expected: float | None, dtype: str = "float32") -> Against:
    key = RowKey(op="all_reduce", bytes=8, dtype=dtype, reduce_op="sum", placement="in-place", cadence="stream")
    return Against(
        key=key,
        status=status,  # type: ignore[arg-type]
        measured_busbw_bytes_per_s=measured,
        expected_busbw_bytes_per_s=expected,
        effect=None,
        reason="",
        source="",
    )


@pytest.mark.parametrize(
    ("rows", "ratio"),
    [
        ([baseline_row("pass", 9e8, 1e9)], 0.9),
        ([baseline_row("fail", 5e8, 1e9), baseline_row("pass", 1e9, 1e9, "bfloat16")], 0.5),  # the worst form
        ([baseline_row("unknown", 5e8, 1e9)], None),  # too noisy to tell
        ([baseline_row("skip", 5e8, None)], None),
    ],
)
def test_a_ratio_to_the_baseline_where_it_can_be_told(rows: list[Against], ratio: float | None) -> None:
    run = replace(samples.good_run(), info=samples.info(nodes=2, world_size=4))
    found = of(metrics.samples(metrics.exported(run, rows)), "baseline_ratio")
    assert found == ({} if ratio is None else {("all_reduce", "8", "2", "4"): ratio})
