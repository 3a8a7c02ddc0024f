"""How many of the links were measured."""

import json
from dataclasses import replace

import pytest

from nccltool.localize import coverage, document
from nccltool.localize.accusations import localized
from nccltool.localize.coverage import Coverage
from nccltool.localize.encounter import Encounter
from tests.support.pairs import FOUND_106, info, met

GROUP = Encounter(members=("a", "b", "c"), busbw_bytes_per_s=2e11)


@pytest.mark.parametrize(
    ("encounters", "nodes", "is_within", "expected"),
    [
        pytest.param(
            (met("a", "b", 9.0), met("a", "b", 9.0), met("b", "a", 9.0)), None, False, (1, 1), id="again"
        ),
        pytest.param((met("a", "b", 9.0),), 4, False, (1, 6), id="nodes that never met"),
        pytest.param((met("a", "b", 9.0), met("b", "c", None)), None, False, (1, 3), id="no result"),
        pytest.param((met("a", "b", 9.0, is_directed=True),), None, False, (0, 1), id="one direction"),
        pytest.param(
            (met("a", "b", 9.0, is_directed=True), met("b", "a", 9.0, is_directed=True)),
            None,
            False,
            (1, 1),
            id="both directions",
        ),
        pytest.param(
            (met("a", "b", 9.0, rail="0"), met("a", "b", 9.0, rail="1")), None, False, (1, 1), id="rails"
        ),
        pytest.param((GROUP,), None, False, None, id="groups alone"),
        pytest.param((GROUP, met("a", "b", 9.0)), None, False, (1, 3), id="a group with a pair"),
        pytest.param((met("a/0", "a/1", 9.0), met("b/0", "b/1", 9.0)), 2, True, (2, 2), id="within nodes"),
        pytest.param((), 4, False, None, id="nothing"),
    ],
)
def test_links(
    encounters: tuple[Encounter, ...], nodes: int | None, is_within: bool, expected: tuple[int, int] | None
) -> None:
    run = localized(replace(info(), nodes=nodes), encounters, FOUND_106, is_within=is_within)
    assert coverage.of(run) == (expected and Coverage(measured=expected[0], links=expected[1]))
    made = json.loads(document.to_json(run))
    assert (made["links_measured"], made["links"]) == (expected or (None, None))


@pytest.mark.parametrize(
    ("nodes", "unseen"),
    [(3, ""), (4, "; 3 of 6 links were not measured")],
)
def test_a_verdict_without_suspects_says_what_was_not_measured(nodes: int, unseen: str) -> None:
    encounters = tuple(met(one, other, 9.0) for one, other in ("ab", "bc", "ac"))
    healthy = replace(
        FOUND_106, scope="nothing-slow", suspects=(), undetermined=(), next_tests=(), reason="all alike"
    )
    run = localized(replace(info(), nodes=nodes), encounters, healthy)
    assert json.loads(document.to_json(run))["reason"] == f"all alike{unseen}"
    slow = localized(replace(info(), nodes=nodes), encounters, FOUND_106)
    assert slow.localization.reason == FOUND_106.reason
