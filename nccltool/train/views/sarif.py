"""Findings of training runs as SARIF 2.1.0, for what shows the results of linters: a finding is a result."""

from nccltool.core import sarif
from nccltool.train.result import TrainRun


def render(run: TrainRun) -> str:
    return sarif.report(run.info, run.verdict, sarif.of_findings(run.findings))
