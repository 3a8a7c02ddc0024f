"""OTLP, to a small collector that decodes with the messages of the official package."""

import gzip
import importlib.util
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from nccltool.core.errors import BadInput
from nccltool.monitor import metrics
from nccltool.monitor.exporters import named, textfile
from nccltool.monitor.exporters.base import PushFailed
from nccltool.monitor.exporters.otlp import Destination
from tests.conftest import Nccltool
from tests.monitor.test_metrics import ALPHA, BETA, CHECK, GAMMA, preflight, seen, trained, training
from tests.samples import measurement, stats

service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
RUN = trained(training(), measurement(wrong=3, late_s=0.001, late_rank=1, limit_busbw_bytes_per_s=1e9))
SUITE = preflight(ALPHA, BETA, GAMMA, outcomes=(CHECK,))


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent, and answers as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.status, self.body = 200, b""
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.received: list[Any] = []

    @property
    def points(self) -> dict[tuple[str, frozenset[tuple[str, str]]], tuple[str, float]]:
        """Unit and value, by name and attributes; each stands once."""
        every = [
            (
                (metric.name, frozenset((one.key, one.value.string_value) for one in point.attributes)),
                metric,
                point,
            )
            for metric in self.metrics
            for point in (metric.gauge.data_points or metric.sum.data_points)
        ]
        found = {series: (metric.unit, point.as_double) for series, metric, point in every}
        assert len(found) == len(every)
        return found

    @property
    def metrics(self) -> list[Any]:
        [request] = self.received
        [resource] = request.resource_metrics
        named = {one.key: one.value.string_value for one in resource.resource.attributes}
        assert named["service.name"] == "nccltool"
        [scope] = resource.scope_metrics
        return list(scope.metrics)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["content-encoding"] == "gzip":
            data = gzip.decompress(data)
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): text for name, text in self.headers.items()})
        self.server.received.append(service.ExportMetricsServiceRequest.FromString(data))
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def units(name: str) -> str:
    metric = metrics.BY_NAME[name]
    return {"": "1", "seconds": "s", "bytes_per_second": "By/s", "samples_per_second": "{sample}/s"}[metric.unit]


@pytest.mark.parametrize("cluster", ["", "eu-1"])
def test_every_value_arrives_with_unit_and_attributes_and_no_other(collector: Collector, cluster: str) -> None:
    samples = metrics.merged((seen(RUN), seen(SUITE)))
    Destination(url=collector.url, cluster=cluster).hand_over((RUN, SUITE), lambda _: samples)
    common = {("cluster", cluster)} if cluster else set()
    expected = {}
    for one in samples:
        labels = dict(zip(metrics.BY_NAME[one.metric].labels, one.labels, strict=True))
        attributes = frozenset({*common, *((name, text) for name, text in labels.items() if text)})
        expected[f"nccltool_{one.metric}", attributes] = (units(one.metric), one.value)
    assert collector.points == expected
    assert collector.paths == ["/v1/metrics"]
    sums = {metric.name: metric.sum for metric in collector.metrics if metric.HasField("sum")}
    assert set(sums) == {"nccltool_wrong_elements_total"}
    [total] = sums.values()
    assert (total.is_monotonic, total.aggregation_temporality) == (True, 2)  # cumulative
    started = metrics.unix_time(RUN.info.started)
    assert [point.start_time_unix_nano for point in total.data_points] == [started * 1e9]
    assert {metric.name: metric.description for metric in collector.metrics} == {
        f"nccltool_{name}": metrics.BY_NAME[name].help for name in {one.metric for one in samples}
    }


def test_the_series_are_those_of_the_text_file_and_none_is_invented(collector: Collector, tmp_path: Path) -> None:
    unknown = measurement(bytes=8, time_s=stats(1e-7, median=None, p90=None, p99=None))
    known = measurement(time_s=stats(0.002, median=None, p99=0.007))
    samples = metrics.merged((seen(trained(training(), known, unknown)),))
    for destination in (
        Destination(url=collector.url, cluster="eu-1"),
        textfile.Destination(str(tmp_path / "a.prom"), "eu-1"),
    ):
        destination.hand_over((RUN,), lambda _: samples)
    written = {
        (one.name, frozenset((name, text) for name, text in one.labels.items() if text)): one.value
        for family in text_string_to_metric_families((tmp_path / "a.prom").read_text())
        for one in family.samples
    }
    assert written == {series: value for series, (_, value) in collector.points.items()}
    quantiles = [dict(labels)["quantile"] for name, labels in written if name == "nccltool_latency_seconds"]
    assert sorted(quantiles) == ["0.9", "0.99"]


def test_the_variables_of_the_sdk_count(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20geheim")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    Destination(url=f"{collector.url}/tenant/metrics").hand_over((RUN,), lambda _: seen(RUN))
    assert collector.paths == ["/tenant/metrics"]
    assert collector.headers[0]["authorization"] == "Bearer geheim"
    assert len(collector.points) == len(seen(RUN))


def test_what_a_collector_refuses_is_said(collector: Collector, capfd: pytest.CaptureFixture[str]) -> None:
    collector.status = 400
    with pytest.raises(PushFailed, match=r"did not accept the metrics within 5 s: HTTP 400 Bad Request$"):
        Destination(url=collector.url, timeout_s=5).hand_over((RUN,), lambda _: seen(RUN))
    assert len(collector.received) == 1
    assert capfd.readouterr() == ("", "")


def test_what_a_collector_takes_in_part_is_said(collector: Collector) -> None:
    partial = {"rejected_data_points": 2, "error_message": "too old"}
    collector.body = service.ExportMetricsServiceResponse(partial_success=partial).SerializeToString()
    with pytest.raises(PushFailed, match="2 values rejected: too old"):
        Destination(url=collector.url).hand_over((RUN,), lambda _: seen(RUN))


def test_one_that_is_ill_is_tried_until_time_is_up(collector: Collector) -> None:
    collector.status = 503
    with pytest.raises(PushFailed, match=r"within 1.5 s: HTTP 503"):
        Destination(url=collector.url, timeout_s=1.5).hand_over((RUN,), lambda _: seen(RUN))
    assert len(collector.received) in (1, 2)  # the SDK waits about a second


def test_one_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(PushFailed, match=r"within 0.3 s"):
            Destination(url=url, timeout_s=0.3).hand_over((RUN,), lambda _: seen(RUN))


def test_nobody_is_there() -> None:
    with pytest.raises(PushFailed, match=r"within 2 s: Connection refused"):
        Destination(url="http://127.0.0.1:9", timeout_s=2.0).hand_over((RUN,), lambda _: seen(RUN))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("collector:4318", "--metrics otlp 'collector:4318' is not a URL"),
        ("http://u:p@h:1", "a password in a URL shows up in logs"),
    ],
)
def test_what_a_collector_cannot_be(url: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        named(f"otlp:{url}")


def test_without_the_extra(nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = nccltool("export", "latest", "--otlp", "http://h:4318")
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines() == [
        "Error: --otlp needs the OpenTelemetry SDK",
        "  -> run pip install 'nccltool[otlp]'",
    ]
