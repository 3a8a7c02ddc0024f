"""Measurements in the Common Test Report Format (CTRF): an operation is a test."""

from collections.abc import Sequence

from nccltool.core import ctrf
from nccltool.probe.result import Run
from nccltool.probe.views import base


def render(run: Run) -> str:
    return render_all([run])


def render_all(runs: Sequence[Run]) -> str:
    """One document: a run is a suite."""
    return ctrf.report("probe", map(base.suite, runs))
