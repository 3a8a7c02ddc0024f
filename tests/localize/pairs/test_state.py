"""What was measured, from events."""

import msgspec

from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.events import Encountered, RoundEnded, RoundsCut
from nccltool.localize.pairs.state import PairsState
from nccltool.probe.events import WrongData


def test_what_ranks_say() -> None:
    state = PairsState()
    wrong = WrongData(
        rank=3, step=0, op="send_recv", bytes=64, elements=1, first_index=2, got="0", expected="1", source="rank 1"
    )
    for event in (
        Encountered(round=0, members=("n1", "n2"), busbw_bytes_per_s=5e9, samples=9, is_directed=True),
        Encountered(round=0, members=("n3", "n4"), busbw_bytes_per_s=None, reason="late"),
        wrong,
        RoundEnded(step=0, meetings=2, missing=1),
    ):
        decoded = PairsState.reader.from_json(msgspec.json.encode(event))
        assert decoded == event
        state.take(event)
    assert state.encounters == [
        Encounter(members=("n1", "n2"), busbw_bytes_per_s=5e9, is_directed=True),
        Encounter(members=("n3", "n4"), busbw_bytes_per_s=None, reason="late"),
    ]
    assert state.done == {0}
    assert [finding.code for finding in state.findings()] == ["wrong-data"]


def test_what_two_ranks_say_of_a_meeting_counts_once() -> None:
    state = PairsState()
    said = Encountered(round=0, members=("n1", "n2"), busbw_bytes_per_s=5e9, samples=9)
    other_rail = Encountered(round=0, members=("n1", "n2"), busbw_bytes_per_s=4e9, samples=9, rail="eth1")
    late = Encountered(round=0, members=("n1", "n2"), busbw_bytes_per_s=None, reason="none of its ranks answered")
    for event in (said, said, other_rail, late):
        state.take(event)
    assert [one.busbw_bytes_per_s for one in state.encounters] == [5e9, 4e9]


def test_rounds_that_would_not_end_in_time_are_missing() -> None:
    state = PairsState()
    state.take(RoundEnded(step=0, meetings=2, missing=0))
    state.take(RoundsCut(left_s=6.14, round_s=17.6))
    (finding,) = state.findings()
    assert (finding.code, finding.effect) == ("deadline", "incomplete")
    assert finding.message == (
        "the run ended after 1 round, before the result was certain: the next round could take 17.6 s, "
        "and the deadline was 6.14 s away"
    )
