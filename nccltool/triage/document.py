"""The JSON document of a triage."""

import msgspec

from nccltool.core.documents import SCHEMA
from nccltool.triage.incident import Incident


def incident_to_json(incident: Incident) -> str:
    """The document of a triage, as indented JSON."""
    document = {
        "schema": SCHEMA,
        "kind": "triage",
        "status": incident.verdict.status,
        "exit_code": incident.verdict.exit_code,
        "run": incident.info,
        "findings": incident.findings,
        "root_cause": incident.root_cause,
        "confidence": incident.confidence,
        "offender": incident.offender,
        "first_failure": incident.first_failure,
        "candidates": incident.candidates,
        "evidence": incident.evidence,
        "decides": incident.decides,
        "lines_read": incident.lines_read,
        "picture": incident.overview,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
