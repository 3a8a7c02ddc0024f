"""Metrics for Prometheus, with or without their prefix."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, normal, titled
from nccltool.monitor.metrics import METRICS, PREFIX

ABOUT = "metrics for Prometheus"


def names() -> Sequence[str]:
    return tuple(PREFIX + metric.name for metric in METRICS)


def page(word: str) -> str | None:
    bare = normal(word.partition("{")[0]).removeprefix(normal(PREFIX) + "-")
    name = known(bare, (metric.name for metric in METRICS))
    if name is None:
        return None
    metric = next(one for one in METRICS if one.name == name)
    labels = ", ".join(metric.labels) or "none"
    text = f"{metric.help}\n\nType: {metric.kind}. Labels: {labels}."
    return titled(PREFIX + name, "metric", text)
