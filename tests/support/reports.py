"""Reports for other programs: held against the schemas that their formats publish."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator, Draft7Validator

SCHEMAS = Path(__file__).parents[1] / "data/schemas"


@cache
def _ctrf() -> Draft7Validator:
    return Draft7Validator(json.loads((SCHEMAS / "ctrf-0.0.json").read_text()))


@cache
def _sarif() -> Draft4Validator:
    return Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))


def ctrf(text: str) -> dict[str, str]:
    """The status of each test by its name; the counts of the document are theirs."""
    document = json.loads(text)
    assert [error.message for error in _ctrf().iter_errors(document)] == []
    summary, tests = document["results"]["summary"], document["results"]["tests"]
    statuses = [test["status"] for test in tests]
    for word in ("passed", "failed", "skipped", "pending", "other"):
        assert summary[word] == statuses.count(word)
    assert summary["tests"] == len(tests)
    for test in tests:
        assert test["duration"] > 0 or test["extra"]["duration"] == "unknown" or test["status"] == "skipped"
    return {test["name"]: test["status"] for test in tests}


def sarif(text: str) -> list[dict[str, Any]]:
    """The results of all runs; each points at its rule."""
    document = json.loads(text)
    assert [error.message for error in _sarif().iter_errors(document)] == []
    found = []
    for run in document["runs"]:
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert "ruleIndex" not in result or rules[result["ruleIndex"]]["id"] == result["ruleId"]
            found.append(result)
    return found
