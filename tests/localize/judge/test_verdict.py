"""The verdict over encounters."""

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import judge

ISSUE_106 = (
    ("644", "699", 49.36),
    ("632", "641", 88.36),
    ("284", "678", 49.28),
    ("641", "644", 49.30),
    ("404", "699", 86.81),
)


def pairs(*rows: tuple[str, str, float | None]) -> tuple[Encounter, ...]:
    return tuple(
        Encounter(members=(one, other), busbw_bytes_per_s=None if speed is None else speed * 1e9)
        for one, other, speed in rows
    )


def test_the_pairs_of_nccl_tests_issue_106() -> None:
    found = judge(pairs(*ISSUE_106))
    assert [(each.kind, each.subject) for each in found.suspects] == [("node", ("644",))]
    assert found.undetermined == (("284", "678"),)
    assert {frozenset({"284", "678"} & {*test.members}) for test in found.next_tests} == {
        frozenset({"284"}),
        frozenset({"678"}),
    }


def test_without_a_bandwidth_nothing_is_known() -> None:
    assert judge(pairs(("a", "b", None))).scope == "unknown"
