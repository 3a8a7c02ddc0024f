"""Metrics of a job that is watched."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from nccltool.attach.judge.progress import JobProgress
from nccltool.attach.watch.incidents import IncidentLog, JobIncident
from nccltool.attach.watch.loop import JobWatch, WatchTick
from nccltool.monitor import exposition, job_metrics, metrics
from nccltool.monitor.job_metrics import WatchedJob
from tests.attach.watch.fakes import FakeLooker
from tests.attach.watch.test_loop import HANGS

PAGE = Path(__file__).parents[2] / "docs/commands/attach.md"


def test_a_hang() -> None:
    tick = JobWatch(looker=FakeLooker([HANGS]), command=(), every_s=30.0).tick(1000.0)
    incident = JobIncident(state="hung", message="hung", began_s=1000.0)
    text = exposition.text(job_metrics.samples(WatchedJob(tick=tick, incidents=(incident,)))).decode()
    read = {(one.name, *one.labels.values()): one.value for family in parsed(text) for one in family.samples}
    assert read["nccltool_job_state", "hung"] == 1
    assert sum(value for (name, *_), value in read.items() if name == "nccltool_job_state") == 1
    assert read["nccltool_job_suspect", "own-code", "n1"] == 1
    assert read["nccltool_job_ranks",] == 3
    assert read["nccltool_job_incidents_total", "hung"] == 1
    assert read["nccltool_job_incidents_total", "slow"] == 0
    assert read["nccltool_job_looked_timestamp_seconds",] == 1000


def test_an_incident_lasts_while_looks_cannot_tell() -> None:
    """The alert on it fires once."""
    log = IncidentLog()
    seen = []
    for at, state in enumerate(("slow", "hung", "unknown", "healthy", "hung", "healthy", "healthy")):
        log.add(state, state, at)  # type: ignore[arg-type]
        tick = WatchTick(number=at, at_s=at, state=state, message="m")  # type: ignore[arg-type]
        found = job_metrics.samples(WatchedJob(tick=tick, incidents=tuple(log.incidents)))
        seen.append([one.value for one in found if one.metric == "job_incident"])
    assert seen == [[1, 0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 0]]


def test_what_is_unknown_is_absent() -> None:
    tick = WatchTick(number=1, at_s=1.0, state="healthy", message="m", progress=JobProgress(step_s=0.5))
    names = {one.metric for one in job_metrics.samples(WatchedJob(tick=tick))}
    assert "job_step_seconds" in names
    assert not names & {"job_step", "job_usual_step_seconds", "job_watch_cores", "job_suspect"}


@pytest.mark.parametrize("metric", job_metrics.METRICS, ids=lambda one: one.name)
def test_names_and_labels_are_those_of_the_contract(metric: metrics.PrometheusMetric) -> None:
    """Prefix, base units, no rank, pid, or job as a label."""
    assert metric not in metrics.METRICS
    assert re.fullmatch(r"job_[a-z_]+", metric.name)
    assert set(metric.labels) <= {"state", "host", "cause"}
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert f"`{metrics.PREFIX}{metric.name}" in PAGE.read_text()
