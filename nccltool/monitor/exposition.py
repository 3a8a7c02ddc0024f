"""Samples as text: Prometheus' format, and OpenMetrics."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from nccltool.monitor import metrics
from nccltool.monitor.metrics import Sample


def text(samples: Iterable[Sample], form: str = "prometheus") -> bytes:
    """The exposition of samples, with help and type of each metric."""
    write: Callable[[CollectorRegistry], bytes] = (
        openmetrics.generate_latest if form == "openmetrics" else generate_latest
    )
    return write(registry(samples))


def registry(samples: Iterable[Sample]) -> CollectorRegistry:
    """A registry of prometheus_client that holds these samples."""
    made = CollectorRegistry(auto_describe=False)
    made.register(_Samples(samples))
    return made


class _Samples(Collector):
    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_metric: dict[str, list[Sample]] = defaultdict(list)
        for sample in samples:
            self._by_metric[sample.metric].append(sample)

    def collect(self) -> Iterator[Metric]:
        """A family of each metric that has samples, in the order of the table."""
        for metric in metrics.METRICS:
            if samples := self._by_metric.get(metric.name):
                yield _family(metric, samples)


def _family(metric: metrics.PrometheusMetric, samples: Iterable[Sample]) -> Metric:
    """By hand: prometheus_client's families of counters and summaries want sums that a finished run has not."""
    name = metrics.PREFIX + metric.name
    family = Metric(name.removesuffix("_total"), metric.help, metric.kind, metric.unit)
    for sample in samples:
        family.add_sample(name, dict(zip(metric.labels, sample.labels, strict=True)), sample.value)
    return family
