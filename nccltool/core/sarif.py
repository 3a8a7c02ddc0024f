"""SARIF 2.1.0, for what shows the results of linters: a finding is a result, with the line of its file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding, Severity
from nccltool.core.text import escaped
from nccltool.core.verdicts import Verdict

LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_PLACE = re.compile(r"([^\n]+?):(\d+): ")
_STANDARD_INPUT = "standard input"
"""How results that were piped in are called."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class FilePlace:
    """A line of a file, from 1 on, or the file; None = no line of it."""

    file: str
    line: int | None
    text: str = ""
    """What stands there; empty = it is not told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SarifRule:
    """What the findings of a code have in common."""

    code: str
    name: str
    what: str
    severity: Severity
    page: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SarifResult:
    """A finding, and where it stands: () = in no file that is known."""

    finding: Finding
    places: tuple[FilePlace, ...] = ()


def place_in(finding: Finding, files: Iterable[str] = ()) -> tuple[FilePlace, ...]:
    """The first line of a file that the evidence names; of relative names only those of `files` are believed."""
    known = frozenset(files)
    for text in finding.evidence:
        match = _PLACE.match(text)
        if match:
            is_known = match[1].startswith("/") or match[1] in known
            return (FilePlace(file=match[1], line=int(match[2])),) if is_known else ()
    return ()


def place_in_source(finding: Finding, source: str | None) -> tuple[FilePlace, ...]:
    """The first line that the finding names of the file that a run was imported from, or else the file.

    Of an archive nothing: lines of a file in it are none of its own.
    """
    if source is None or ", " in source or source == _STANDARD_INPUT:
        return ()
    line = re.compile(rf"(?<!\S){re.escape(source)}, line (\d+)")
    match = next(filter(None, map(line.search, (finding.message, *finding.evidence, finding.subject.name))), None)
    if match or finding.subject.kind == "file":
        return (FilePlace(file=source, line=int(match[1]) if match else None),)
    return ()


def of_findings(findings: Iterable[Finding], source: str | None = None) -> list[SarifResult]:
    """Results with what their evidence names."""
    return [SarifResult(finding=one, places=place_in(one) or place_in_source(one, source)) for one in findings]


def rules_of(findings: Iterable[Finding]) -> list[SarifRule]:
    """A rule for each code, with the severity that most of its findings have."""
    first = {one.code: one for one in reversed(list(findings))}
    return [
        SarifRule(
            code=code, name=code, what=f"nccltool explain {code}", severity=one.kind.severities[0], page=one.page
        )
        for code, one in sorted(first.items())
    ]


def report(
    info: RunInfo,
    verdict: Verdict,
    results: Sequence[SarifResult],
    rules: Sequence[SarifRule] | None = None,
    *,
    notes: Iterable[Mapping[str, Any]] = (),
    properties: Mapping[str, Any] | None = None,
) -> str:
    """The document of one run, with a newline at its end."""
    return document([run_of(info, verdict, results, rules, notes=notes, properties=properties)])


def document(runs: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def run_of(
    info: RunInfo,
    verdict: Verdict,
    results: Sequence[SarifResult],
    rules: Sequence[SarifRule] | None = None,
    *,
    notes: Iterable[Mapping[str, Any]] = (),
    properties: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A run as the document has it. `notes`: what could not be judged."""
    shown = rules_of(one.finding for one in results) if rules is None else rules
    numbers = {rule.code: number for number, rule in enumerate(shown)}
    driver = {"name": "nccltool", "version": info.nccltool, "rules": [_rule(rule) for rule in shown]}
    invocation = {
        "executionSuccessful": verdict.status != "incomplete",
        "exitCode": verdict.exit_code,
        "toolExecutionNotifications": list(notes),
    }
    return {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [_result(one, numbers) for one in results],
        "properties": {"hosts": [escaped(host) for host in info.hosts], **(properties or {})},
    }


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.what},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"page": rule.page},
    }


def _result(one: SarifResult, numbers: Mapping[str, int]) -> dict[str, Any]:
    finding = one.finding
    evidence = [line for text in finding.evidence for line in text.split("\n")]
    remedy = [f"Remedy: {finding.remedy}"] if finding.remedy else []
    return {
        "ruleId": finding.code,
        **({"ruleIndex": numbers[finding.code]} if finding.code in numbers else {}),
        "level": LEVELS[finding.severity],
        "message": {"text": "\n".join(escaped(line) for line in (finding.message, *evidence, *remedy))},
        "locations": list(_locations(one)),
    }


def _locations(one: SarifResult) -> Iterator[dict[str, Any]]:
    """What the finding is about, with the first line of a file; then the other lines."""
    subject = one.finding.subject
    logical = {"logicalLocations": [{"name": escaped(subject.name), "kind": subject.kind}]}
    first, *others = (_physical(place) for place in one.places) if one.places else ({},)
    yield {**first, **logical}
    yield from others


def _physical(place: FilePlace) -> dict[str, Any]:
    is_absolute = place.file.startswith("/")
    uri = f"{'file://' if is_absolute else ''}{quote(place.file, errors='replace')}"
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if place.line is not None:
        snippet = {"snippet": {"text": escaped(place.text)}} if place.text else {}
        physical["region"] = {"startLine": place.line, **snippet}
    return {"physicalLocation": physical}
