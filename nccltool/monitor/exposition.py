"""Samples as text: Prometheus' format, and OpenMetrics."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from nccltool.monitor import job_metrics, metrics
from nccltool.monitor.metrics import Sample


def text(samples: Iterable[Sample], form: str = "prometheus", cluster: str = "") -> bytes:
    """The exposition of samples, with help and type of each metric; `cluster`: their label, empty = none."""
    write: Callable[[CollectorRegistry], bytes] = (
        openmetrics.generate_latest if form == "openmetrics" else generate_latest
    )
    return write(registry(samples, {metrics.CLUSTER: cluster} if cluster else {}))


def registry(samples: Iterable[Sample], common: Mapping[str, str] | None = None) -> CollectorRegistry:
    """A registry of prometheus_client that holds these samples, by metric, in the order of the table; all have
    the `common` labels."""
    by_metric: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_metric[sample.metric].append(sample)
    families = [
        _family(one, by_metric[one.name], common or {})
        for one in (*metrics.METRICS, *job_metrics.METRICS)
        if one.name in by_metric
    ]
    made = CollectorRegistry(auto_describe=False)
    made.register(_Families(families))
    return made


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _family(metric: metrics.PrometheusMetric, samples: Iterable[Sample], common: Mapping[str, str]) -> Metric:
    """By hand: prometheus_client's families of counters and summaries want sums that a finished run has not."""
    name = metrics.PREFIX + metric.name
    family = Metric(name.removesuffix("_total"), metric.help, metric.kind, metric.unit)
    for sample in samples:
        labels = dict(zip(metric.labels, sample.labels, strict=True))
        family.add_sample(name, {**common, **labels}, sample.value)
    return family
