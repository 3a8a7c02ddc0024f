"""Alerts for Prometheus."""

from collections.abc import Sequence

from nccltool.cli.help_pages.base import known
from nccltool.monitor import alerts

ABOUT = "alerts for Prometheus"


def names() -> Sequence[str]:
    return alerts.NAMES


def page(word: str) -> str | None:
    name = known(word, names())
    return (alerts.page(name) or "").replace(f"# {name}\n", f"# {name} (alert)\n", 1) if name else None
