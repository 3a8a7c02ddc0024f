"""A localization as SARIF, for what shows the results of linters."""

from nccltool.core import sarif
from nccltool.localize.localized import LocalizedRun


def render(run: LocalizedRun) -> str:
    return sarif.report(run.info, run.verdict, sarif.of_findings(run.findings))
