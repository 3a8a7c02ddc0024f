"""Alerts for Prometheus: one alert a file, found by listing this folder; its docstring is its runbook page.

docs/monitoring/alerts.yml and docs/runbooks/alerts/ are made of them.
"""

import inspect
from typing import Any

from nccltool.core import members
from nccltool.monitor.alerts.base import SECTIONS, Alert

__all__ = ["NAMES", "SECTIONS", "find", "page", "rules"]

_FILES = members.names(__path__)
_BY_NAME = {"Nccltool" + file.title().replace("-", ""): file for file in _FILES}
NAMES = tuple(_BY_NAME)
RUNBOOKS = "https://nccltool.readthedocs.io/en/latest/runbooks/alerts"
"""Where the pages are, for people who only see the alert."""

_COLLECT = (
    "To hand over: `nccltool bundle ID` puts facts, findings, logs and the run into one archive; without ID, the\n"
    "newest run."
)


def find(name: str) -> Alert | None:
    """The alert of a name; None = there is none."""
    file = _BY_NAME.get(name)
    return None if file is None else members.module(__name__, file).ALERT


def page(name: str) -> str | None:
    """The page of an alert, in Markdown; None = there is no such alert."""
    alert = find(name)
    if alert is None:
        return None
    text = inspect.cleandoc(members.module(__name__, _BY_NAME[name]).__doc__ or "")
    head, _, sections = text.partition("\n\n## ")
    rule = f"Fires when `{alert.expr}` holds for {alert.hold}; severity {alert.severity}."
    return f"# {name}\n\n{head}\n\n{rule}\n\n## {sections}\n\n{_COLLECT}\n"


def rules() -> dict[str, Any]:
    """All alerts, as Prometheus' rule file has them."""
    return {"groups": [{"name": "nccltool", "rules": [_rule(name) for name in NAMES]}]}


def _rule(name: str) -> dict[str, Any]:
    alert = find(name)
    assert alert is not None
    return {
        "alert": name,
        "expr": alert.expr,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{RUNBOOKS}/{name}/",
        },
    }
