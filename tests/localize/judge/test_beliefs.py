"""Which parts are slow."""

import numpy as np
import pytest

from nccltool.localize.judge import beliefs, levels, likelihood, observed, parts
from nccltool.localize.judge.beliefs import Beliefs
from nccltool.localize.judge.parts import Parts
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import NODES, Speed, everyone, healthy, slow_nodes


def believed(speed: Speed) -> tuple[Parts, Beliefs]:
    known = observed.observe(everyone(speed), Topology())
    found = parts.of(known, np.zeros(len(known.logs), dtype=bool), Topology(), ())
    return found, beliefs.propagate(found, likelihood.of_levels(known, levels.first(known, None)))


@pytest.mark.parametrize("speed", [0.1, 0.5, 0.7, 0.82, None])
def test_slow_nodes_are_bad_and_their_partners_are_not(speed: float | None) -> None:
    found, belief = believed(slow_nodes(n03=speed, n07=speed))
    bad = {found.keys[part][1][0] for part in np.flatnonzero(belief.bad() > 0.5)}
    assert bad == {"n03", "n07"}


def test_an_encounter_has_a_level_for_certain() -> None:
    _, belief = believed(healthy)
    assert belief.levels.sum(axis=1) == pytest.approx(1)
    assert belief.bad().max() < 0.05
    assert len(belief.bad()) == len(NODES)


def test_alone_all_blame_falls_on_one() -> None:
    found, _ = believed(healthy)
    rows = np.zeros((len(found.encounter_of), belief_levels := 17))
    rows[:, 8] = 1.0
    heard = beliefs.heard_alone(found, rows, np.array([0]))
    assert heard.shape == (1, 1, 2, belief_levels - 1)
    assert heard[0, 0, 0].argmax() == 7
