"""Alerts for Prometheus: one alert a file, found by listing this folder; its docstring is its runbook page.

docs/monitoring/alerts.yml and docs/runbooks/alerts/ are made of them. A file has the fields of Alert as constants,
and in its docstring the sections of SECTIONS.
"""

import inspect
from dataclasses import dataclass, fields
from typing import Literal

from nccltool.core import members

SECTIONS = ("Meaning", "Impact", "Verify", "Causes", "Fix", "Escalate")
_BY_NAME = {"Nccltool" + file.title().replace("-", ""): file for file in members.names(__path__)}
NAMES = tuple(_BY_NAME)
_COLLECT = (
    "Attach the archive from `nccltool bundle ID`. It contains facts, findings, logs, and the run. "
    "If you leave out ID, it contains the newest run."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """A rule of Prometheus: when it fires, how bad it is, what it says."""

    expr: str
    hold: str = "0m"
    """How long it must hold before the alert fires, as Prometheus writes it."""
    severity: Literal["critical", "warning", "info"]
    summary: str
    """One line; a template of Prometheus."""
    description: str
    source: str
    """Of the threshold."""


def find(name: str) -> Alert | None:
    """The alert of a name; None = there is none."""
    if name not in _BY_NAME:
        return None
    said = vars(members.module(__name__, _BY_NAME[name]))
    return Alert(**{one.name: said[one.name.upper()] for one in fields(Alert) if one.name.upper() in said})


def page(name: str) -> str | None:
    """The page of an alert, in Markdown; None = there is no such alert."""
    alert = find(name)
    if alert is None:
        return None
    text = inspect.cleandoc(members.module(__name__, _BY_NAME[name]).__doc__ or "")
    head, _, sections = text.partition("\n\n## ")
    since = "is true" if alert.hold == "0m" else f"has been true for {alert.hold.removesuffix('m')} minutes"
    rule = f"This {alert.severity} alert fires when `{alert.expr}` {since}."
    return f"# {name}\n\n{head}\n\n{rule}\n\n## {sections}\n\n{_COLLECT}\n"
