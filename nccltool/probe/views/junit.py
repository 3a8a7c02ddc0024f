"""Measurements as JUnit XML, for what shows the results of tests: an operation is a test case."""

from collections.abc import Sequence

from nccltool.core import junit
from nccltool.probe.result import Run
from nccltool.probe.views import base


def render(run: Run) -> str:
    return render_all([run])


def render_all(runs: Sequence[Run]) -> str:
    """One document: a run is a suite."""
    return junit.report("probe", map(base.suite, runs))
