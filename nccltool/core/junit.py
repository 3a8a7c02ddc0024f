"""JUnit XML, as the schema of Jenkins has it; attributes stand in the order in which they are given.

A suite is a run. What could not be told and decides the exit code is an error, so that no build is green for it;
the rest of it, and what was left out, is skipped. Warnings pass, with their text as output.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from nccltool.core.documents import RunInfo
from nccltool.core.findings import Finding
from nccltool.core.text import escaped, escaped_lines, named
from nccltool.core.verdicts import Verdict

_HOSTS = 8
"""Hosts that are named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitCase:
    """A test case."""

    name: str
    group: str = ""
    """What stands after the command in its class name."""
    kind: Literal["", "failure", "error", "skipped"] = ""
    """The element in it; empty = it passes."""
    type: str = ""
    """Of a failure or an error."""
    message: str = ""
    text: str = ""
    duration_s: float | None = None
    """How long it took, as measured; None = not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JunitSuite:
    """A run of a command: its first case is its verdict."""

    command: str
    info: RunInfo
    verdict: Verdict
    headline: str
    text: str = ""
    """What the case of the verdict says beyond its headline."""
    cases: Sequence[JunitCase] = ()


def report(command: str, suites: Iterable[JunitSuite]) -> str:
    """The document of runs, with a newline at its end."""
    every = list(suites)
    kinds = [case.kind for one in every for case in with_verdict(one)]
    lines = (line for one in every for line in _suite_of_run(one))
    return document({"name": f"nccltool {command}"} | counts(kinds), lines)


def with_verdict(one: JunitSuite) -> tuple[JunitCase, ...]:
    """The case of the verdict, which took as long as the run, and the others."""
    return (_of_verdict(one), *one.cases)


def of_findings(findings: Iterable[Finding], group: str = "findings") -> Iterator[JunitCase]:
    """A case for each code and subject; in their order."""
    every = list(findings)
    keys = {finding: f"{finding.code} [{finding.subject.kind} {finding.subject.name}]" for finding in every}
    for name in dict.fromkeys(keys.values()):
        yield case_of(name, [one for one in every if keys[one] == name], group)


def case_of(name: str, findings: Sequence[Finding], group: str = "") -> JunitCase:
    """What findings make of a case: the worst that they do to a run decides."""
    kinds: dict[str, Literal["failure", "error"]] = {
        "answer": "failure",
        "incomplete": "error",
        "unknown": "error",
    }
    worst = next((one for effect in kinds for one in findings if one.effect == effect), None)
    if worst is None:
        return JunitCase(name=name, group=group, text=finding_text(findings))
    return JunitCase(
        name=name,
        group=group,
        kind=kinds[worst.effect],
        type=worst.code,
        message=worst.message,
        text=finding_text(findings),
    )


def finding_text(findings: Iterable[Finding]) -> str:
    """Findings with their evidence and remedy; nothing in that may act on a terminal."""
    lines = []
    for one in findings:
        evidence = [line for text in one.evidence for line in text.split("\n")]
        lines += [f"{one.severity}: {one.message}", *(f"    {line}" for line in evidence)]
        lines += [f"    -> {one.remedy}"] if one.remedy else []
    return "\n".join(escaped(line) for line in lines)


def _of_verdict(one: JunitSuite) -> JunitCase:
    code, status = one.verdict.exit_code, one.verdict.status
    kind: Literal["", "failure", "error"] = {0: "", 1: "failure"}.get(code, "error")  # type: ignore[assignment]
    text = one.text if kind else "\n".join(part for part in (one.headline, one.text) if part)
    took = one.info.duration_s
    return JunitCase(name="verdict", kind=kind, type=status, message=one.headline, text=text, duration_s=took)


def _suite_of_run(one: JunitSuite) -> Iterator[str]:
    cases = with_verdict(one)
    kinds = [case.kind for case in cases]
    attributes = {
        "name": one.command,
        **counts(kinds),
        "skipped": str(kinds.count("skipped")),
        "hostname": named(one.info.hosts, _HOSTS),
        "timestamp": one.info.started,
        **time(one.info.duration_s),
    }
    told = {"run": one.info.id, "status": one.verdict.status, "exit_code": str(one.verdict.exit_code)}
    about = properties({**told, "nccltool": one.info.nccltool})
    return suite(attributes, (*about, *(line for each in cases for line in _lines(one.command, each))))


def _lines(command: str, one: JunitCase) -> Iterator[str]:
    text = "\n".join(escaped_lines(one.text)) if one.text else ""
    inside = []
    if one.kind == "skipped":
        inside = [element("skipped", {"message": one.message})]
    elif one.kind:
        inside = [element(one.kind, {"type": one.type, "message": one.message}, text)]
    elif text:
        inside = [element("system-out", {}, text)]
    return case(f"{command}.{one.group}" if one.group else command, one.name, inside, one.duration_s)


def properties(told: Mapping[str, str]) -> Iterator[str]:
    yield "<properties>"
    yield from (element("property", {"name": name, "value": value}) for name, value in told.items())
    yield "</properties>"


def document(attributes: Mapping[str, str], suites: Iterable[str]) -> str:
    """One document, with a newline at its end. Of the root the schema allows no number of skipped ones."""
    head = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{_opened('testsuites', attributes)}>"]
    return "\n".join([*head, *suites, "</testsuites>"]) + "\n"


def suite(attributes: Mapping[str, str], inside: Iterable[str]) -> Iterator[str]:
    yield f"<{_opened('testsuite', attributes)}>"
    yield from inside
    yield "</testsuite>"


def case(classname: str, name: str, inside: Sequence[str], duration_s: float | None = None) -> Iterator[str]:
    """The lines of a test; with nothing inside, it passes."""
    head = _opened("testcase", {"classname": classname, "name": name, **time(duration_s)})
    yield f"<{head}>" if inside else f"<{head}/>"
    yield from (*inside, "</testcase>") if inside else ()


def time(duration_s: float | None) -> dict[str, str]:
    """The attribute of a duration; left out where none was measured."""
    return {} if duration_s is None else {"time": f"{duration_s:.3f}"}


def element(tag: str, attributes: Mapping[str, str], text: str | None = None) -> str:
    """An element with a text; nothing in that may act on a terminal."""
    inside = "/>" if text is None else f">{escape(text)}</{tag}>"
    return f"<{_opened(tag, attributes)}{inside}"


def counts(kinds: Sequence[str]) -> dict[str, str]:
    """How many tests there are, and how many of them did not pass; `kinds` are elements in them."""
    return {"tests": str(len(kinds)), **{f"{kind}s": str(kinds.count(kind)) for kind in ("failure", "error")}}


def _opened(tag: str, attributes: Mapping[str, str]) -> str:
    return " ".join([tag, *(f"{name}={quoteattr(escaped(value))}" for name, value in attributes.items())])
