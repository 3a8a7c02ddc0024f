"""Every rule on every host of its cases: it fires, it is silent, or it says why it cannot tell."""

import importlib
import pkgutil

import pytest

from nccltool.doctor import judge, rules
from tests.doctor.rules import cases
from tests.doctor.rules.base import Case

CASES: tuple[Case, ...] = tuple(
    case
    for info in pkgutil.iter_modules(cases.__path__)
    for group in importlib.import_module(f"{cases.__name__}.{info.name}").CASES
    for case in group
)
RULES = {rule.code: rule for rule in rules.every()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_does_what_its_case_says(case: Case) -> None:
    diagnosis = judge.judge(case.hosts, [RULES[case.code]])
    (outcome,) = diagnosis.outcomes
    seen = "fires" if diagnosis.problems else "unknown" if outcome.status == "unknown" else "silent"
    assert seen == case.expect, outcome.reason or [problem.found for problem in diagnosis.problems]
    assert (seen == "unknown") <= bool(outcome.reason)


@pytest.mark.parametrize("case", [case for case in CASES if case.expect == "fires"], ids=str)
def test_what_is_found_can_be_acted_on(case: Case) -> None:
    for finding in judge.judge(case.hosts, [RULES[case.code]]).findings:
        assert finding.message
        assert not finding.message.endswith(".")
        assert finding.evidence or finding.subject.kind == "variable"
        assert finding.remedy
        assert all(line.isprintable() for text in finding.evidence for line in text.splitlines())
