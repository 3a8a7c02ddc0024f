"""Findings of a preflight as SARIF 2.1.0, for what shows the results of linters: a finding is a result."""

from nccltool.core import sarif
from nccltool.preflight.result import Preflight


def render(preflight: Preflight) -> str:
    return sarif.report(preflight.info, preflight.verdict, sarif.of_findings(preflight.findings))
