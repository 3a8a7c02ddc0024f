"""Who meets next."""

import pytest

from nccltool.localize.encounter import Encounter
from nccltool.localize.judge import judge
from nccltool.localize.pairs import rounds
from nccltool.localize.pairs.job import PairSpec
from nccltool.localize.pairs.units import MeetingUnit

NODES = [MeetingUnit(name=f"n{number}", node=number, ranks=(number,)) for number in range(6)]


def met(number: int, a: str, b: str, busbw: float | None = 1e9) -> Encounter:
    return Encounter(members=(a, b), busbw_bytes_per_s=busbw, round=number, reason=None if busbw else "late")


def test_all_pairs_are_all_pairs() -> None:
    said: list[Encounter] = []
    spec = PairSpec(is_all_pairs=True, most_rounds=5)
    for number in range(5):
        meetings = rounds.next_meetings(spec, NODES, said)
        names = [name for meeting in meetings for name in meeting]
        assert sorted(names) == sorted(unit.name for unit in NODES)
        said += [met(number, a, b) for a, b in meetings]
    assert len({frozenset(one.members) for one in said}) == 15
    assert rounds.next_meetings(spec, NODES, said) == ()


@pytest.mark.parametrize(
    ("encounters", "expected"),
    [
        ([], set()),
        ([met(0, "n1", "n2", None), met(0, "n3", "n4"), met(1, "n3", "n2")], set()),  # once is not enough
        (
            [met(0, "n1", "n2", None), met(0, "n3", "n4"), met(1, "n1", "n3", None), met(1, "n2", "n4")],
            {"n1"},
        ),
        # it came again
        ([met(0, "n1", "n2", None), met(1, "n1", "n3", None), met(2, "n1", "n2"), met(2, "n3", "n4")], set()),
        # nobody knows whether it was the partners
        ([met(0, "n1", "n2", None), met(1, "n1", "n3", None)], set()),
        # twice with the same partner may be the link
        ([met(0, "n1", "n2", None), met(1, "n1", "n2", None), met(2, "n2", "n3")], set()),
    ],
    ids=["none", "once", "twice", "came again", "nobody came", "one partner"],
)
def test_who_is_not_waited_for_any_longer(encounters: list[Encounter], expected: set[str]) -> None:
    assert rounds.absent(encounters) == expected
    names = {name for meeting in rounds.next_meetings(PairSpec(), NODES, encounters) for name in meeting}
    assert not names & expected


def test_every_pair_within_each_node_at_the_same_time() -> None:
    ranks = [MeetingUnit(name=f"n{n}/{r}", node=n, ranks=(4 * n + r,)) for n in range(2) for r in range(4)]
    said: list[Encounter] = []
    spec, done = PairSpec(is_within=True), 0
    while meetings := rounds.next_meetings(spec, ranks, said):
        said += [met(done, a, b) for a, b in meetings]
        done += 1
    assert all(one.members[0][:2] == one.members[1][:2] for one in said)
    assert len({frozenset(one.members) for one in said}) == len(said) == 12
    assert said[-1].round == 2


def test_a_round_that_was_slow_as_a_whole_is_repeated_once() -> None:
    said: list[Encounter] = []
    first: dict[int, set[frozenset[str]]] = {}
    for number in range(6):
        meetings = rounds.next_meetings(PairSpec(is_all_pairs=True), NODES, said)
        first[number] = {frozenset(pair) for pair in meetings}
        said += [met(number, a, b, (0.5 if number == 1 else 1.0) * (1e9 + 1e6 * number)) for a, b in meetings]
    assert first[3] == first[1]  # it takes three rounds to know
    assert len({pair for pairs in first.values() for pair in pairs}) == 15


def test_slow_ranks_meet_again_within_their_node() -> None:
    ranks = [MeetingUnit(name=f"n{n}/{r}", node=n, ranks=(8 * n + r,)) for n in range(2) for r in range(8)]
    said: list[Encounter] = []
    spec, done, slow = PairSpec(is_within=True), 0, {"n0/1", "n0/2"}
    while meetings := rounds.next_meetings(spec, ranks, said):
        assert all(a[:2] == b[:2] for a, b in meetings)
        said += [met(done, a, b, (0.4 if {a, b} == slow else 1.0) * (1e9 + 1e6 * done)) for a, b in meetings]
        done += 1
    assert 8 <= done <= 7 + rounds.CONTROLS_WITHIN
    assert sum({*one.members} == slow for one in said) >= 2
    found = judge(said, topology=rounds.known(spec, ranks))
    assert [(one.kind, {*one.subject}) for one in found.suspects] == [("link", slow)]
    assert all(a[:2] == b[:2] for a, b in (test.members for test in found.next_tests))
