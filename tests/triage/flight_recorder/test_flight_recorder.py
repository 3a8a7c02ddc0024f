"""Dumps of torch's flight recorder: which collective, who is missing, who made another call."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage import flight_recorder, run
from tests.triage.flight_recorder.samples import GOOD, entry, message, waits, write


def found(dumps: list[flight_recorder.RecorderDump]) -> list[tuple[str, int | None]]:
    return [(event.kind, event.rank) for event in flight_recorder.events(dumps)]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((GOOD, GOOD, GOOD), []),
        ((GOOD,), []),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], GOOD), [("torch.behind", 2)]),
        (([*GOOD, entry(3)], GOOD, GOOD), []),
        (
            ([*GOOD, waits(3)], [*GOOD, waits(3, op="nccl:broadcast")], [*GOOD, waits(3)]),
            [("torch.fingerprint", 1)],
        ),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], [*GOOD, waits(3, sizes=9)]), [("torch.fingerprint", 2)]),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], [*GOOD, waits(3, dtype="Half")]), [("torch.fingerprint", 2)]),
        (([entry(1, op="nccl:all_to_all")], [entry(1, op="nccl:all_to_all", sizes=9)]), []),
        (([entry(1, is_p2p=True)], [entry(1, op="x", is_p2p=True)]), []),
        (([entry(1, output_sizes=[[16]])], [entry(1, output_sizes=[[24]])]), [("torch.fingerprint", 1)]),
        (([entry(1, op="gather", output_sizes=[[16]])], [entry(1, op="gather", output_sizes=[])]), []),
        (([entry(1, op="nccl:scatter", input_sizes=[[16]])], [entry(1, op="nccl:scatter", input_sizes=[])]), []),
        (([entry(1, input_sizes=[[2, 4]])], [entry(1)]), []),
        (([entry(1, op="nccl:broadcast"), entry(9)], [entry(9)]), []),
    ],
)
def test_what_the_dumps_of_ranks_show(
    tmp_path: Path, ranks: tuple[list[Any], ...], expected: list[tuple[str, int]]
) -> None:
    assert found(write(tmp_path, *ranks)) == expected


@pytest.mark.parametrize(
    ("ranks", "cause", "rank"),
    [
        (([*GOOD, waits(3)], [*GOOD, waits(3)], GOOD), "straggler-timeout", "2"),
        (
            ([*GOOD, waits(3)], [*GOOD, waits(3, op="nccl:broadcast")], [*GOOD, waits(3)]),
            "collective-mismatch",
            "1",
        ),
    ],
)
def test_they_are_evidence_for_the_judge(
    tmp_path: Path, ranks: tuple[list[Any], ...], cause: str, rank: str
) -> None:
    write(tmp_path, *ranks)
    incident = run.triage([str(tmp_path)], ())
    assert incident.root_cause == cause
    assert incident.offender is not None
    assert incident.offender.name == rank
    assert "collective #3" in incident.evidence[0].text


@pytest.mark.parametrize(
    ("world", "kinds"), [(2, []), (3, ["torch.no-dump"]), (4, ["torch.no-dump"]), (5, [])], ids=str
)
def test_ranks_that_left_no_dump(tmp_path: Path, world: int, kinds: list[str]) -> None:
    """Where most ranks have none, nobody collected them."""
    events = list(flight_recorder.events(write(tmp_path, GOOD, GOOD, world=world)))
    assert [event.kind for event in events] == kinds
    assert [event.get("ranks") for event in events] == [", ".join(map(str, range(2, world)))] * len(kinds)


def test_a_rank_without_a_dump_is_the_one_to_look_for(tmp_path: Path) -> None:
    write(tmp_path, [*GOOD, waits(3)], [*GOOD, waits(3)], world=3)
    incident = run.triage([str(tmp_path)], ())
    assert incident.root_cause == "peer-exited"
    assert incident.offender is not None
    assert (incident.offender.kind, incident.offender.name) == ("rank", "2")


def test_calls_in_another_order_are_said_to_be(tmp_path: Path) -> None:
    one, other = "nccl:all_reduce", "nccl:broadcast"
    usual = [entry(1, op=one), waits(2, op=other)]
    events = list(flight_recorder.events(write(tmp_path, usual, [entry(1, op=other), waits(2, op=one)], usual)))
    assert [(event.kind, event.rank) for event in events] == [("torch.fingerprint", 1)]
    assert "collective #1 of process group 0, in a different order" in events[0].text


_ENTRIES = st.lists(
    st.one_of(
        st.builds(
            message,
            st.from_regex(r"(send [0-3]->[0-3]|recv [0-3]<-[0-3]|coalesced|send x)", fullmatch=True),
            st.integers(1, 4),
            size=st.integers(0, 2),
            finished=st.booleans(),
            frames=st.just([{"filename": "t.py", "line": 1, "name": "f"}]),
        ),
        st.builds(entry, st.integers(1, 4), op=st.sampled_from(["nccl:all_reduce", "x"]), retired=st.booleans()),
        st.dictionaries(st.sampled_from(["is_p2p", "profiling_name", "process_group"]), st.none()),
    ),
    max_size=5,
)


@given(st.lists(_ENTRIES, min_size=1, max_size=4), st.integers(0, 6))
def test_whatever_ranks_called_something_can_be_said(
    tmp_path_factory: pytest.TempPathFactory, ranks: list[list[Any]], world: int
) -> None:
    dumps = write(tmp_path_factory.mktemp("dumps"), *ranks, world=world)
    for event in flight_recorder.events(dumps):
        assert event.kind in ("torch.behind", "torch.fingerprint", "torch.no-dump")
        assert event.text.isprintable()
        assert event.rank is not None
    calls = [call for one in dumps for call in next(iter(one.groups.values()), {}).values()]
    if all(call.finished for call in calls) and all(one.finished for dump in dumps for one in dump.messages):
        assert "torch.behind" not in [event.kind for event in flight_recorder.events(dumps)]
