"""Alerts for Prometheus: one alert a file, found by listing this folder; its docstring is its runbook page.

docs/monitoring/alerts.yml and docs/runbooks/alerts/ are made of them.
"""

import inspect

from nccltool.core import members
from nccltool.monitor.alerts.base import Alert

_FILES = members.names(__path__)
_BY_NAME = {"Nccltool" + file.title().replace("-", ""): file for file in _FILES}
NAMES = tuple(_BY_NAME)
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
