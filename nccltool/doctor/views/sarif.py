"""A diagnosis as SARIF 2.1.0, for what shows the results of linters."""

from nccltool.core import sarif
from nccltool.core.sarif import SarifResult, SarifRule
from nccltool.core.text import escaped
from nccltool.doctor.diagnosis import Diagnosis, RulePage
from nccltool.hosts.env_files import STANDARD_INPUT


def render(diagnosis: Diagnosis) -> str:
    files = {escaped(one.origin.rpartition(":")[0]) for one in diagnosis.settings} - {STANDARD_INPUT}
    notes = [
        {"level": "note", "message": {"text": outcome.reason}, "associatedRule": {"id": outcome.code}}
        for outcome in diagnosis.outcomes
        if outcome.status == "unknown"
    ]
    results = [SarifResult(finding=one, places=sarif.place_in(one, files)) for one in diagnosis.findings]
    return sarif.report(
        diagnosis.info,
        diagnosis.verdict,
        results,
        [_rule(rule) for rule in diagnosis.rules],
        notes=notes,
        properties={"nccl": diagnosis.nccl},
    )


def _rule(rule: RulePage) -> SarifRule:
    return SarifRule(code=rule.code, name=rule.name, what=rule.what, severity=rule.severity, page=rule.place)
