"""What every rule must be: named, with a page, with cases of all three kinds; and every condition is covered."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nccltool.doctor import judge, rules
from nccltool.doctor.rules.base import JudgedHost, Rule
from nccltool.hosts.facts import HostFacts
from tests.doctor.rules.base import Case
from tests.doctor.rules.test_cases import BY_RULE, RULES, of_each_rule

CONDITIONS = dict(
    line.split(maxsplit=1) for line in (Path(__file__).parent / "conditions.txt").read_text().splitlines()
)
"""Every condition that the doctor knows, by its id: what the rules cover."""

every = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
PARTS = {one.name for one in msgspec.structs.fields(HostFacts)}


def test_conditions_are_all_there() -> None:
    assert len(CONDITIONS) == 295


def test_every_condition_is_covered() -> None:
    covered = {condition for rule in RULES.values() for condition in _covered(rule)}
    assert covered <= CONDITIONS.keys()
    assert sorted(CONDITIONS.keys() - covered) == []


def _covered(rule: Rule) -> tuple[str, ...]:
    return (f"{rule.family}-{rule.code[-3:]}",) if rule.covers is None else rule.covers


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in rules.every()}) == len(rules.every())
    assert len({rule.name for rule in rules.every()}) == len(rules.every())


@every
def test_a_rule_is_named_well(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z0-9]{2,6}[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert set(rule.needs) <= PARTS | {"rank"}


@every
def test_a_rule_has_its_page(rule: Rule) -> None:
    page = rule.page
    assert page.what.endswith((".", ")"))
    assert page.why.endswith(".")


@every
def test_a_rule_has_cases_of_all_kinds(rule: Rule) -> None:
    assert {case.expect for case in BY_RULE[rule.code]} == {"fires", "silent", "unknown"}


class _Poison:
    """Stands for a part of the facts that a rule did not say it needs."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the rule reads .{name} of a part that it does not name in `needs`")

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("the rule reads a part that it does not name in `needs`")


@of_each_rule
def test_a_rule_reads_only_what_it_needs(cases: tuple[Case, ...]) -> None:
    for case in cases:
        rule = RULES[case.code]
        hidden: dict[str, Any] = {part: _Poison() for part in PARTS - {*rule.parts, "host"}}
        poisoned = [_with_facts(host, msgspec.structs.replace(host.facts, **hidden)) for host in case.hosts]
        judge.judge(poisoned, [rule])


@of_each_rule
def test_a_rule_that_does_not_need_the_rank_does_not_read_it(cases: tuple[Case, ...]) -> None:
    """Ranks of a host that differ in these variables only are judged once."""
    for case in cases:
        rule = RULES[case.code]
        if rule.is_across or "rank" in rule.needs:
            continue
        for host in case.hosts:
            shared = {name: one for name, one in host.settings.variables.items() if name not in judge.PER_RANK}
            without = replace(host, settings=replace(host.settings, variables=shared))
            assert judge.judge([without], [rule]).findings == judge.judge([host], [rule]).findings, str(case)


def _with_facts(host: JudgedHost, facts: HostFacts) -> JudgedHost:
    return replace(host, facts=facts)
