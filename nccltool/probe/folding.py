"""Hints that say nearly the same, as one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from nccltool.core.findings import Finding
from nccltool.core.text import named
from nccltool.probe.finding_kinds import LEFT_OUT

_LEFT_OUT = " was left out: "
_NAMED = 4


def folded(findings: Sequence[Finding]) -> Iterator[Finding]:
    """What is left out for one reason is one finding; hints say what they share at the last of them."""
    left_out: dict[str, list[str]] = {}
    for finding in findings:
        if finding.kind is LEFT_OUT:
            what, reason = _parts(finding)
            left_out.setdefault(reason, []).append(what)
    for finding, following in zip_longest(findings, findings[1:]):
        if finding.kind is LEFT_OUT:
            _, reason = _parts(finding)
            if whats := left_out.pop(reason, []):
                were = " were left out: " if len(whats) > 1 else _LEFT_OUT
                yield replace(finding, message=f"{named(whats, _NAMED)}{were}{reason}")
        elif finding.severity == "info" and following and _says_the_same(finding, following):
            yield replace(finding, evidence=(), remedy="")
        else:
            yield finding


def _parts(finding: Finding) -> tuple[str, str]:
    what, _, reason = finding.message.partition(_LEFT_OUT)
    return what, reason


def _says_the_same(one: Finding, other: Finding) -> bool:
    return (one.code, one.evidence, one.remedy) == (other.code, other.evidence, other.remedy)
