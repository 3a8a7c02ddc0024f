"""Incidents as SARIF 2.1.0: a root cause is a result, and the lines of logs that prove it are its locations."""

from nccltool.core import sarif
from nccltool.core.sarif import FilePlace, SarifResult
from nccltool.triage.incident import Incident, TriageReport

_STANDARD_INPUT = "-"


def render(report: TriageReport) -> str:
    results = [result for job in report.jobs for result in _results(job.incident)]
    jobs = [{"name": job.name, "root_cause": job.incident.root_cause} for job in report.jobs]
    return sarif.report(report.worst.info, report.verdict, results, properties={"jobs": jobs})


def _results(incident: Incident) -> list[SarifResult]:
    places = tuple(
        FilePlace(file=one.file, line=one.line, text=one.text)
        for one in incident.evidence
        if one.file != _STANDARD_INPUT and one.line > 0
    )
    return [SarifResult(finding=one, places=places) for one in incident.findings]
