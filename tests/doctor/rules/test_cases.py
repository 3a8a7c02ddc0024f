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

BY_RULE = {code: tuple(case for case in CASES if case.code == code) for code in RULES}
of_each_rule = pytest.mark.parametrize("cases", BY_RULE.values(), ids=BY_RULE.keys())


@of_each_rule
def test_a_rule_does_what_its_cases_say(cases: tuple[Case, ...]) -> None:
    for case in cases:
        diagnosis = judge.judge(case.hosts, [RULES[case.code]])
        (outcome,) = diagnosis.outcomes
        seen = "fires" if diagnosis.problems else "unknown" if outcome.status == "unknown" else "silent"
        assert seen == case.expect, (str(case), outcome.reason or [one.found for one in diagnosis.problems])
        assert (seen == "unknown") <= bool(outcome.reason), str(case)


@of_each_rule
def test_what_is_found_can_be_acted_on(cases: tuple[Case, ...]) -> None:
    for case in cases:
        for finding in judge.judge(case.hosts, [RULES[case.code]]).findings if case.expect == "fires" else ():
            assert finding.message, str(case)
            assert not finding.message.endswith("."), str(case)
            assert finding.evidence or finding.subject.kind == "variable", str(case)
            assert finding.remedy, str(case)
            assert all(line.isprintable() for text in finding.evidence for line in text.splitlines()), str(case)
