"""A preflight as JUnit XML: a rung is a suite, a check on a host is a test case.

What could not be judged and should have been is an error, so that no build is green for it; the rest of it, and
what was left out, is skipped. Warnings pass, with their text as output.
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from nccltool.core.text import escaped
from nccltool.preflight import outcome_text
from nccltool.preflight.result import Judged, Preflight


def render(preflight: Preflight) -> str:
    """One document, with a newline at its end."""
    info, outcomes = preflight.info, preflight.outcomes
    head = f'<testsuites name="nccltool preflight" time="{preflight.duration_s:.3f}" {_counts(outcomes)}>'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    hosts = _attribute(", ".join(info.hosts))
    for rung in dict.fromkeys(one.rung for one in outcomes):
        mine = [one for one in outcomes if one.rung == rung]
        # of the root the schema of Jenkins allows no number of skipped ones
        skipped = sum(1 for one in mine if _kind(one) == "skipped")
        lines.append(
            f'<testsuite name={_attribute(rung)} {_counts(mine)} skipped="{skipped}" hostname={hosts} '
            f'timestamp="{escaped(info.started)}">'
        )
        lines += _properties(preflight)
        for one in mine:
            lines += _case(one)
        lines.append("</testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _kind(one: Judged) -> str:
    """The element that a case holds; empty = none, it passes."""
    match one.status:
        case "fail":
            return "failure"
        case "unknown":
            return "error" if one.required else "skipped"
        case "skip":
            return "skipped"
    return ""


def _counts(outcomes: Sequence[Judged]) -> str:
    kinds = [_kind(one) for one in outcomes]
    return f'tests="{len(kinds)}" failures="{kinds.count("failure")}" errors="{kinds.count("error")}"'


def _properties(preflight: Preflight) -> Iterator[str]:
    info, verdict = preflight.info, preflight.verdict
    told = {
        "suite": preflight.suite,
        "run": info.id,
        "status": verdict.status,
        "exit_code": str(verdict.exit_code),
        "nccltool": info.nccltool,
    }
    yield "<properties>"
    for name, value in told.items():
        yield f"<property name={_attribute(name)} value={_attribute(value)}/>"
    yield "</properties>"


def _case(one: Judged) -> Iterator[str]:
    name = one.code.partition("/")[2] or one.code
    title = f"{name} [{one.host}]" if one.host else name
    head = f"<testcase classname={_attribute(f'preflight.{one.rung}')} name={_attribute(title)}"
    kind = _kind(one)
    if not kind and one.status == "pass":
        yield f"{head}/>"
        return
    text = "\n".join([escaped(one.reason), *outcome_text.lines(one)])
    yield f"{head}>"
    if not kind:
        yield f"<system-out>{escape(f'{one.status}: {text}')}</system-out>"
    elif kind == "skipped":
        yield f"<skipped message={_attribute(one.reason)}/>"
    else:
        message = _attribute(one.reason or f"{one.code} failed")
        yield f'<{kind} type="{one.status}" message={message}>{escape(text)}</{kind}>'
    yield "</testcase>"


def _attribute(text: str) -> str:
    return quoteattr(escaped(text))
