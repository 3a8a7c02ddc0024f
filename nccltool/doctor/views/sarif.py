"""A diagnosis as SARIF 2.1.0, for what shows the results of linters."""

import json
import re
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from nccltool.core.findings import Finding, Severity
from nccltool.core.text import escaped
from nccltool.doctor.diagnosis import Diagnosis, RulePage
from nccltool.hosts.env_files import STANDARD_INPUT

_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_PLACE = re.compile(r"([^\n]+?):(\d+): ")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(diagnosis: Diagnosis) -> str:
    numbers = {rule.code: number for number, rule in enumerate(diagnosis.rules)}
    files = {escaped(one.origin.rpartition(":")[0]) for one in diagnosis.settings} - {STANDARD_INPUT}
    driver = {
        "name": "nccltool",
        "version": diagnosis.info.nccltool,
        "rules": [_rule(rule) for rule in diagnosis.rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": diagnosis.verdict.exit_code,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": outcome.reason}, "associatedRule": {"id": outcome.code}}
                    for outcome in diagnosis.outcomes
                    if outcome.status == "unknown"
                ],
            }
        ],
        "results": [_result(finding, numbers, files) for finding in diagnosis.findings],
        "properties": {"hosts": list(diagnosis.info.hosts), "nccl": diagnosis.nccl},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: RulePage) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.what},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"page": rule.place},
    }


def _result(finding: Finding, numbers: dict[str, int], files: Collection[str]) -> dict[str, Any]:
    evidence = [line for text in finding.evidence for line in text.split("\n")]
    lines = [finding.message, *evidence, f"Remedy: {finding.remedy}"]
    return {
        "ruleId": finding.code,
        **({"ruleIndex": numbers[finding.code]} if finding.code in numbers else {}),
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(escaped(line) for line in lines)},
        "locations": [_location(finding, files)],
    }


def _location(finding: Finding, files: Collection[str]) -> dict[str, Any]:
    """A line of a file where the evidence has one, and what the finding is about."""
    logical = {"name": escaped(finding.subject.name), "kind": finding.subject.kind}
    place = next((match for text in finding.evidence if (match := _PLACE.match(text))), None)
    if place is None or not (place[1].startswith("/") or place[1] in files):
        return {"logicalLocations": [logical]}
    file = {
        "artifactLocation": {"uri": f"{'file://' if place[1].startswith('/') else ''}{quote(place[1])}"},
        "region": {"startLine": int(place[2])},
    }
    return {"physicalLocation": file, "logicalLocations": [logical]}
