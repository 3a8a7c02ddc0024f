"""Control tests."""

import pytest

from nccltool.localize.counters import CounterEvidence
from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import controls
from nccltool.localize.judge.fit import Fit, fit
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import everyone, one, slow_nodes


def fitted(rows: list[Encounter]) -> Fit:
    return fit(rows, expected_busbw_bytes_per_s=None, topology=Topology(), counters=())


def test_only_partners_that_are_fast_with_others_count() -> None:
    found = fitted(everyone(slow_nodes(n03=0.6, n07=0.6), rounds=15))
    slow = controls.with_cleared(found, 3, {"n03"})
    assert len([*controls.slow(found, 3)]) == 15
    assert len(slow) == 14
    assert controls.ratio(slow) == pytest.approx(0.6, rel=0.05)
    assert controls.speeds(slow) in ("59 % of the healthy bandwidth", "60 % of the healthy bandwidth")


def test_a_node_is_cleared_without_its_suspect() -> None:
    found = fitted([*everyone(slow_nodes(n03=0.6)), one(("n03", "x"))])
    new = found.observed.nodes.index("x")
    assert not controls.is_cleared(found, new, {"n03"})
    assert controls.is_cleared(found, 0, {"n03"})
    assert controls.times_fast(found, 0, {"n03"}) == 7
    assert controls.enough(found) == 6


def test_what_was_counted_is_evidence_there_only() -> None:
    counters = (
        CounterEvidence(node="a", kind="link-flaps", value=3, detail="mlx5_0 port 1", rail="rail0"),
        CounterEvidence(node="b", kind="retransmits", value=7),
    )
    assert controls.of_counters(counters, "a") == ("link flaps: 3 (mlx5_0 port 1)",)
    assert controls.of_counters(counters, "a", "rail1") == ()
    assert controls.of_counters(counters, "b") == ("retransmits: 7",)


def test_without_a_result_there_is_no_ratio() -> None:
    assert controls.ratio(()) is None
    assert controls.speeds(()) == "no result"
