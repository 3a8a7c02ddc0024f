"""JUDGE what came of the defect of a plug-in: it is the plug-in's, not that of the rank that it was found on."""

from nccltool.core import plugins
from nccltool.core.findings import Finding, Subject
from nccltool.launch.finding_kinds import PLUGIN_FAILED


def not_measured(op: str, said: str) -> Finding:
    """An operation that was left out; the others were measured. `said`: the plug-in, and what went wrong."""
    return PLUGIN_FAILED.finding(
        subject=Subject(kind="operation", name=op),
        message=f"{op} was not measured: {said}",
        remedy=plugins.REMEDY,
    )


def ended(said: str, where: str, waiting: tuple[str, ...]) -> Finding:
    """It ended the run, since other ranks were inside the call."""
    return PLUGIN_FAILED.finding(
        subject=Subject(kind="run", name="plug-in"),
        message=f"{said}. Seen on {where}; the other ranks waited for it",
        evidence=waiting,
        remedy=plugins.REMEDY,
    )
