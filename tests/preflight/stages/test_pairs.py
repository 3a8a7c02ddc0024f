"""Pairs of nodes, as outcomes: who is accused, and who is excluded."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.core.findings import Subject
from nccltool.core.verdicts import Verdict
from nccltool.launch.finding_kinds import DEADLINE
from nccltool.localize.accusations import localized
from nccltool.localize.result import Localization, Suspect
from nccltool.preflight import host_verdicts
from nccltool.preflight.stages.pairs import of_pairs
from tests import samples
from tests.preflight.samples import ran, told

HOSTS = ("n1", "n2", "n3", "n4")
HEALTHY = Localization(
    scope="nothing-slow",
    noise=0.03,
    smallest_visible_fault=0.09,
    healthy_busbw_bytes_per_s=4e10,
    reason="all alike",
)


def suspect(**changes: Any) -> Suspect:
    return replace(Suspect(kind="node", subject=("beta",), confidence=0.99, ratio=0.5, evidence=()), **changes)


def measured(*suspects: Suspect, **changes: Any) -> Any:
    found = replace(HEALTHY, scope="suspects" if suspects else "nothing-slow", suspects=suspects, **changes)
    info = samples.info(emulated=False, hosts=HOSTS)
    return replace(ran(localized(info, (), found, kind="pairs"), *HOSTS), stage="pairs")


RAIL = suspect(kind="rail", subject=("beta", "3"))


@pytest.mark.parametrize(
    ("suspects", "said", "excluded"),
    [
        ((), {("pairs/speed", None): ("pass", "")}, []),
        ((suspect(),), {("pairs/node-slow", "n2"): ("fail", "confirmed")}, ["n2"]),
        ((suspect(ratio=None),), {("pairs/node-absent", "n2"): ("fail", "confirmed")}, ["n2"]),
        ((suspect(confidence=0.7),), {("pairs/node-slow", "n2"): ("warn", "suspected")}, []),
        (
            (suspect(kind="rail", subject=("beta", "3")),),
            {("pairs/rail-slow", "n2"): ("fail", "confirmed")},
            ["n2"],
        ),
        ((suspect(kind="rail", subject=("3",)),), {("pairs/rail-slow", None): ("fail", "suspected")}, []),
        ((suspect(kind="link", subject=("n1", "n3")),), {("pairs/link-slow", None): ("fail", "suspected")}, []),
    ],
)
def test_who_is_accused(suspects: tuple[Suspect, ...], said: Any, excluded: list[str]) -> None:
    outcomes = tuple(of_pairs(measured(*suspects)))
    assert told(outcomes) == {("pairs/completed", None): ("pass", ""), **said}
    verdicts = host_verdicts.of_hosts(outcomes, HOSTS)
    assert [one.host for one in verdicts if one.exclude] == excluded


def test_what_nothing_explains_accuses_nobody() -> None:
    outcomes = tuple(of_pairs(measured(undetermined=(("n1", "n3"),))))
    assert told(outcomes)["pairs/pairs-undetermined", None] == ("fail", "suspected")
    assert not any(one.exclude for one in host_verdicts.of_hosts(outcomes, HOSTS))


def test_a_budget_that_is_spent_is_unknown_and_what_was_seen_counts() -> None:
    spent = DEADLINE.finding(subject=Subject(kind="run", name="all ranks"), message="not done in 60 s")
    seen = measured(suspect())
    assert seen.run is not None
    run = replace(
        seen.run, findings=(*seen.run.findings, spent), verdict=Verdict(status="incomplete", exit_code=3)
    )
    assert told(of_pairs(replace(seen, run=run))) == {
        ("pairs/completed", None): ("unknown", ""),
        ("pairs/node-slow", "n2"): ("fail", "confirmed"),
    }
