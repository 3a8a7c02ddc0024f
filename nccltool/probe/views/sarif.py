"""Findings of a measurement as SARIF 2.1.0, for what shows the results of linters: a finding is a result."""

from collections.abc import Sequence

from nccltool.core import sarif
from nccltool.probe.result import Run


def render(run: Run) -> str:
    return render_all([run])


def render_all(runs: Sequence[Run]) -> str:
    """One document, in which every run is one."""
    return sarif.document(
        [sarif.run_of(one.info, one.verdict, sarif.of_findings(one.findings, one.info.source)) for one in runs]
    )
