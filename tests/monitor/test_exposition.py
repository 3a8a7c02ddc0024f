"""The text that Prometheus reads, read back by the parsers of its own client."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from nccltool.monitor import exposition, metrics
from nccltool.monitor.metrics import METRICS, Sample

LABELS = {"quantile": "0.5"}
EVERY = [
    Sample(metric.name, tuple(LABELS.get(label, f"{label}-1") for label in metric.labels), float(number))
    for number, metric in enumerate(METRICS)
]
PARSERS: dict[str, Callable[[str], Iterable[Metric]]] = {"prometheus": prometheus, "openmetrics": openmetrics}


@pytest.mark.parametrize("form", PARSERS)
def test_every_metric_is_read_back(form: str) -> None:
    text = exposition.text(EVERY, form).decode()
    read = {
        sample.name: (sample.labels, sample.value) for family in PARSERS[form](text) for sample in family.samples
    }
    assert read == {
        metrics.PREFIX + metric.name: (dict(zip(metric.labels, sample.labels, strict=True)), sample.value)
        for metric, sample in zip(METRICS, EVERY, strict=True)
    }


@pytest.mark.parametrize("form", PARSERS)
def test_all_are_of_the_cluster_that_is_named(form: str) -> None:
    families = list(PARSERS[form](exposition.text(EVERY, form, "eu-1").decode()))
    assert {sample.labels["cluster"] for family in families for sample in family.samples} == {"eu-1"}
    assert sum(len(family.samples) for family in families) == len(EVERY)


@given(host=st.text(max_size=30), value=st.floats(allow_nan=False))
def test_text_from_hosts_cannot_break_out_of_a_label(host: str, value: float) -> None:
    text = exposition.text([Sample("suspect", (host,), value)]).decode()
    families = list(prometheus(text))
    assert [(s.labels, s.value) for family in families for s in family.samples] == [({"host": host}, value)]


def test_help_and_type_stand_once_before_the_samples() -> None:
    text = exposition.text([Sample("suspect", (host,), 1) for host in "ab"]).decode()
    assert text.splitlines()[:2] == [
        "# HELP nccltool_suspect 1 if a host should be drained, 0 if not.",
        "# TYPE nccltool_suspect gauge",
    ]
    assert len(text.splitlines()) == 4
