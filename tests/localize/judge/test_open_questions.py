"""What to measure next."""

from nccltool.localize.judge import judge, open_questions
from nccltool.localize.judge.fit import fit
from nccltool.localize.topology import Topology
from tests.localize.judge.fabric import NODES, everyone, healthy, one, slow_nodes


def test_each_of_a_slow_pair_meets_someone_who_is_fast() -> None:
    found = judge([*everyone(healthy), one(("x", "y"), 0.5)])
    assert found.undetermined == (("x", "y"),)
    assert {test.members[0] for test in found.next_tests} == {"x", "y"}
    assert {test.members[1] for test in found.next_tests} <= {*NODES}


def test_a_node_that_never_met_anyone_is_asked_for() -> None:
    found = judge(everyone(healthy), nodes=[*NODES, "late"])
    assert [test.members[0] for test in found.next_tests] == ["late"]


def test_nothing_is_asked_when_all_is_known() -> None:
    rows = everyone(slow_nodes(n03=0.5))
    known = fit(rows, expected_busbw_bytes_per_s=None, topology=Topology(), counters=())
    suspects = {3: judge(rows).suspects[0]}
    assert open_questions.next_tests(known, suspects, NODES) == ()
    assert open_questions.undetermined(known, suspects) == ()
    assert len(open_questions.undetermined(known, {})) == 8


def test_no_node_is_both_doubtful_and_the_proof() -> None:
    rows = [*everyone(healthy, nodes=NODES[:4], rounds=3), one(NODES[:2], 0.5, 3)]
    tests = judge(rows).next_tests
    assert not {test.members[0] for test in tests} & {test.members[1] for test in tests}


def test_no_test_is_asked_of_a_node_that_never_gave_a_result() -> None:
    rows = [*everyone(healthy), *(one((name, "gone"), None, 9) for name in NODES[:3])]
    known = fit(rows, expected_busbw_bytes_per_s=None, topology=Topology(), counters=())
    assert "gone" not in {name for test in open_questions.next_tests(known, {}, ()) for name in test.members}
    once = fit(rows[:-2], expected_busbw_bytes_per_s=None, topology=Topology(), counters=())
    assert "gone" in {test.members[0] for test in open_questions.next_tests(once, {}, ())}
