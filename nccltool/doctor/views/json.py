"""The document of the contract."""

from nccltool.core.documents import SCHEMA, encoded
from nccltool.doctor.diagnosis import Diagnosis


def render(diagnosis: Diagnosis) -> str:
    return f"{to_json(diagnosis)}\n"


def to_json(diagnosis: Diagnosis) -> str:
    document = {
        "schema": SCHEMA,
        "kind": "doctor",
        "status": diagnosis.verdict.status,
        "exit_code": diagnosis.verdict.exit_code,
        "run": diagnosis.info,
        "findings": diagnosis.findings,
        "outcomes": diagnosis.outcomes,
        "settings": diagnosis.settings,
        "nccl": diagnosis.nccl,
    }
    return encoded(document)
