"""What an alert is: when it fires, how bad it is, what it says.

An alert is a file of this folder: its docstring is its page, with the sections of SECTIONS, and ALERT is the rule.
"""

from dataclasses import dataclass
from typing import Literal

SECTIONS = ("Meaning", "Impact", "Verify", "Causes", "Fix", "Escalate")


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """A rule of Prometheus."""

    expr: str
    hold: str = "0m"
    """How long it must hold before the alert fires, as Prometheus writes it."""
    severity: Literal["critical", "warning", "info"]
    summary: str
    """One line; a template of Prometheus."""
    description: str
    source: str
    """Of the threshold."""
