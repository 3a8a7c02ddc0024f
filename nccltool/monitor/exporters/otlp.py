"""An OpenTelemetry collector, over OTLP/HTTP with the SDK of OpenTelemetry.

Names are those of Prometheus, so that dashboards and alerts stay as they are. Headers, certificates and
compression are those of the SDK's variables, OTEL_EXPORTER_OTLP_*, and more attributes of the resource those of
OTEL_RESOURCE_ATTRIBUTES: https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
"""

import importlib.util
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from nccltool import __version__
from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.monitor import metrics
from nccltool.monitor.exporters import AnyRun, TakeSamples
from nccltool.monitor.exporters.base import AFTER_VERDICT_S, PushFailed, check_url, in_time
from nccltool.monitor.metrics import Sample

_PATH = "v1/metrics"
"""Of a collector, where the address names none."""
_UNITS = {"bytes_per_second": "By/s", "samples_per_second": "{sample}/s", "seconds": "s", "": "1"}
"""As UCUM writes them (https://opentelemetry.io/docs/specs/semconv/general/metrics/#units)."""
_LOGGER = "opentelemetry"


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """A collector."""

    EXAMPLE: ClassVar = "http://host:4318"
    url: str
    timeout_s: float = 30.0
    """How long to go on trying."""
    cluster: str = ""

    @classmethod
    def of_text(cls, where: str, cluster: str) -> "Destination":
        """The collector at an address. Raises BadInput."""
        made = cls(url=where, cluster=cluster, timeout_s=AFTER_VERDICT_S)
        made.check()
        return made

    def check(self) -> None:
        """Raises BadInput for an address that cannot be one, and where the SDK is not installed."""
        check_url(self.url, "--otlp", self.EXAMPLE, "set OTEL_EXPORTER_OTLP_HEADERS=authorization=...")
        try:
            found = importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http.metric_exporter")
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise BadInput("--otlp needs the OpenTelemetry SDK", "run pip install 'nccltool[otlp]'")

    @property
    def subject(self) -> Subject:
        return Subject(kind="link", name=self.url)

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Send them in one request, within the time. Raises BadInput, PushFailed."""
        self.check()
        began = min(metrics.unix_time(run.info.started) for run in found)
        taken = samples(found)
        reasons = _Reasons()
        logger = logging.getLogger(_LOGGER)
        propagates, logger.propagate = logger.propagate, False
        logger.addHandler(reasons)
        try:
            in_time(lambda: self._send(taken, began, reasons), self.timeout_s)
        except TimeoutError as error:
            raise self._failed(reasons.cause or str(error)) from error
        except (OSError, ValueError) as error:
            raise BadInput(f"the OpenTelemetry SDK: {error}", "check the OTEL_* variables") from error
        finally:
            logger.removeHandler(reasons)
            logger.propagate = propagates
        return f"sent to {self.url}"

    def _send(self, samples: Iterable[Sample], began: float, reasons: "_Reasons") -> None:
        import requests
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import MetricExportResult

        session = requests.Session()
        session.hooks["response"].append(reasons.read)
        session.send = reasons.watched(session.send)
        path = urlsplit(self.url).path.strip("/")
        endpoint = self.url if path else f"{self.url.rstrip('/')}/{_PATH}"
        exporter = OTLPMetricExporter(endpoint=endpoint, timeout=self.timeout_s, session=session)
        try:
            if exporter.export(_data(samples, began, self.cluster)) is not MetricExportResult.SUCCESS:
                raise self._failed(reasons.cause or reasons.said or "no reason given")
            if reasons.rejected:
                raise self._failed(reasons.rejected)
        finally:
            exporter.shutdown()

    def _failed(self, why: str) -> PushFailed:
        return PushFailed(
            f"{self.url} did not accept the metrics within {self.timeout_s:g} s: {why}",
            "check that the collector is running, and OTEL_EXPORTER_OTLP_HEADERS",
        )


class _Reasons(logging.Handler):
    """Why the SDK failed: it only logs that, and does not read the answer of a collector that took only a part."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = ""
        self.cause = ""
        """Of the last try: of several, the SDK says only that time is up."""
        self.rejected = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.said = record.getMessage()[:300]

    def watched(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """It, keeping why it failed."""

        def tried(*words: Any, **others: Any) -> Any:
            try:
                return send(*words, **others)
            except OSError as error:
                inner: BaseException = error
                while inner.__context__:
                    inner = inner.__context__
                self.cause = (getattr(inner, "strerror", None) or str(inner))[:300]
                raise

        return tried

    def read(self, response: Any, *_: object, **__: object) -> None:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

        if response.status_code != 200:
            self.cause = f"HTTP {response.status_code} {response.reason or ''}".rstrip()
            return
        try:
            partial = ExportMetricsServiceResponse.FromString(response.content).partial_success
        except DecodeError:
            self.rejected = "its answer is not OTLP"
            return
        count = partial.rejected_data_points
        self.rejected = f"{count} values rejected: {partial.error_message[:300]}" if count else ""


def _data(samples: Iterable[Sample], began: float, cluster: str) -> Any:
    """Samples in the types of the SDK, each with the time of now, as a scrape would give it."""
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    by_metric: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_metric[sample.metric].append(sample)
    now = time.time_ns()
    every = [
        _metric(metric, by_metric[metric.name], (int(began * 1e9), now), cluster)
        for metric in metrics.METRICS
        if metric.name in by_metric
    ]
    scope = ScopeMetrics(InstrumentationScope("nccltool", __version__), every, "")
    resource = Resource.create({"service.name": "nccltool", "service.version": __version__})
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(
    metric: metrics.PrometheusMetric, samples: Iterable[Sample], period: tuple[int, int], cluster: str
) -> Any:
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Metric, NumberDataPoint, Sum

    is_counter = metric.kind == "counter"
    common = {metrics.CLUSTER: cluster} if cluster else {}
    points = [
        NumberDataPoint(
            common | {name: text for name, text in zip(metric.labels, sample.labels, strict=True) if text},
            period[0] if is_counter else None,
            period[1],
            sample.value,
        )
        for sample in samples
    ]
    data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True) if is_counter else Gauge(points)
    return Metric(metrics.PREFIX + metric.name, metric.help, _UNITS[metric.unit], data)
