"""The JSON document of a diagnosis."""

import msgspec

from nccltool.core.documents import SCHEMA
from nccltool.core.findings import Finding
from nccltool.core.run_info import RunInfo
from nccltool.core.verdicts import Status
from nccltool.doctor.diagnosis import Assignment, Diagnosis, RuleOutcome


class _DiagnosisDocument(msgspec.Struct, kw_only=True):
    schema: int
    kind: str
    status: Status
    exit_code: int
    run: RunInfo
    findings: tuple[Finding, ...]
    outcomes: tuple[RuleOutcome, ...]
    settings: tuple[Assignment, ...]
    nccl: str | None


def diagnosis_to_json(diagnosis: Diagnosis) -> str:
    """The document of a diagnosis, as indented JSON."""
    document = _DiagnosisDocument(
        schema=SCHEMA,
        kind="doctor",
        status=diagnosis.verdict.status,
        exit_code=diagnosis.verdict.exit_code,
        run=diagnosis.info,
        findings=diagnosis.findings,
        outcomes=diagnosis.outcomes,
        settings=diagnosis.settings,
        nccl=diagnosis.nccl,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
