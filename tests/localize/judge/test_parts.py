"""Which parts an encounter used."""

import numpy as np
import pytest

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import observed, parts
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import one

LEAVES = Topology(leaf_of={"a": "1", "b": "2"})


@pytest.mark.parametrize(
    ("encounter", "topology", "is_low", "kinds"),
    [
        (one("ab"), Topology(), False, ["node", "node"]),
        (one("ab"), Topology(), True, ["link", "node", "node"]),
        (one("abc"), Topology(), True, ["group", "node", "node", "node"]),
        (one("ab"), LEAVES, False, ["node", "node", "uplink", "uplink"]),
        (one("a", 0.5), Topology(), True, ["node"]),
    ],
)
def test_an_encounter(encounter: Encounter, topology: Topology, is_low: bool, kinds: list[str]) -> None:
    known = observed.observe([encounter], topology)
    found = parts.of(known, np.array([is_low]), topology, ())
    assert sorted(found.keys[part][0] for part in found.part_of) == kinds


def test_rails_are_parts_where_there_are_several() -> None:
    known = observed.observe([one("ab", rail="0"), one("ab", rail="1")], Topology())
    found = parts.of(known, np.zeros(2, dtype=bool), Topology(), ())
    assert len(found.number("node-rail")) == 4
    assert len(found.number("rail")) == 2


def test_a_direction_shows_only_in_encounters_that_use_it() -> None:
    known = observed.observe([one("ab", is_directed=True)], Topology())
    found = parts.of(known, np.array([True]), Topology(), ())
    assert found.activity.tolist() == [[1, 1, 0], [1, 0, 1], [1, 1, 0]]


def test_a_counter_makes_a_fault_likelier() -> None:
    known = observed.observe([one("ab")], Topology())
    counter = CounterEvidence(node="a", kind="symbol-errors", value=9.0)
    priors = parts.of(known, np.array([False]), Topology(), [counter]).priors
    assert priors[0, 0, 0, 3] > priors[1, 0, 0, 3] + 1
