"""A preflight as JUnit XML: a stage is a suite, a check on a host is a test case.

What could not be judged and should have been is an error, so that no build is green for it; the rest of it, and
what was left out, is skipped. Warnings pass, with their text as output.
"""

from collections.abc import Iterator

from nccltool.core import junit
from nccltool.core.text import escaped, named
from nccltool.preflight.result import CheckOutcome, Preflight
from nccltool.preflight.views import base


def render(preflight: Preflight) -> str:
    info, outcomes = preflight.info, preflight.outcomes
    lines: list[str] = []
    took = {one.stage: one.duration_s for one in preflight.stage_times}
    for stage in dict.fromkeys(one.stage for one in outcomes):
        mine = [one for one in outcomes if one.stage == stage]
        kinds = [_kind(one) for one in mine]
        attributes = {
            "name": stage,
            **junit.counts(kinds),
            "skipped": str(kinds.count("skipped")),
            "hostname": named(info.hosts, 8),
            "timestamp": info.started,
            **junit.time(took.get(stage)),
        }
        cases = (line for one in mine for line in _case(one))
        lines += junit.suite(attributes, (*_properties(preflight), *cases))
    root = {"name": "nccltool preflight", "time": f"{preflight.duration_s:.3f}"}
    return junit.document(root | junit.counts([_kind(one) for one in outcomes]), lines)


def _kind(one: CheckOutcome) -> str:
    """The element that a case holds; empty = none, it passes."""
    match one.status:
        case "fail":
            return "failure"
        case "unknown":
            return "error" if one.required else "skipped"
        case "skip":
            return "skipped"
    return ""


def _properties(preflight: Preflight) -> Iterator[str]:
    info, verdict = preflight.info, preflight.verdict
    told = {
        "suite": preflight.suite,
        "run": info.id,
        "status": verdict.status,
        "exit_code": str(verdict.exit_code),
        "nccltool": info.nccltool,
    }
    return junit.properties(told)


def _case(one: CheckOutcome) -> Iterator[str]:
    name = one.check.what or one.stage
    title = f"{name} [{one.host}]" if one.host else name
    return junit.case(f"preflight.{one.stage}", title, list(_inside(one)))


def _inside(one: CheckOutcome) -> Iterator[str]:
    kind = _kind(one)
    text = "\n".join([escaped(one.reason), *base.lines(one)])
    if kind == "skipped":
        yield junit.element("skipped", {"message": one.reason})
    elif kind:
        message = one.reason or f"{one.code} failed"
        yield junit.element(kind, {"type": one.status, "message": message}, text)
    elif one.status != "pass":
        yield junit.element("system-out", {}, f"{one.status}: {text}")
