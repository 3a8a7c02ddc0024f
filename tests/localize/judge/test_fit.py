"""Levels and beliefs that agree."""

import pytest

from nccltool.localize.judge.fit import fit
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import everyone, slow_nodes


def test_what_it_knows_of_a_slow_node() -> None:
    found = fit(everyone(slow_nodes(n03=0.6)), expected_busbw_bytes_per_s=None, topology=Topology(), counters=())
    part = found.part(("node", ("n03",)))
    assert part is not None
    assert found.bad[part] > 0.99
    assert len(found.encounters_of(part)) == 8
    assert found.bad_encounters.sum() == pytest.approx(8, abs=0.5)
    assert found.part(("node", ("nobody",))) is None
