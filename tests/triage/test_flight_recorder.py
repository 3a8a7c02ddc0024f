"""Dumps of torch's flight recorder: which collective, who is missing, who made another call."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.triage import flight_recorder, run


def entry(place: int, op: str = "gloo:all_reduce", sizes: int = 8, dtype: str = "Float", **more: Any) -> Any:
    known = {
        "collective_seq_id": place,
        "input_dtypes": [dtype],
        "input_sizes": [[sizes]],
        "is_p2p": False,
        "process_group": ["0", "default_pg"],
        "profiling_name": op,
        "retired": True,
        "state": "scheduled",
    }
    return known | more


def waits(place: int, **more: Any) -> Any:
    return entry(place, **({"retired": False} | more))


def message(
    name: str, place: int, size: int = 8, dtype: str = "Float", finished: bool = False, **more: Any
) -> dict[str, Any]:
    """A send or recv as ProcessGroupNCCL records it: "send 0->1", "recv 1<-0"."""
    known = {
        "collective_seq_id": 0,
        "frames": [],
        "input_dtypes": [dtype],
        "input_sizes": [[size]],
        "is_p2p": True,
        "op_id": place,
        "output_dtypes": [dtype],
        "output_sizes": [[size]],
        "p2p_seq_id": place,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "profiling_name": f"nccl:{name}",
        "record_id": place - 1,
        "retired": finished,
        "state": "completed" if finished else "started",
    }
    return known | more


def batch(place: int, *names: str, finished: bool = False) -> list[dict[str, Any]]:
    """What batch_isend_irecv records: only the last entry knows how far the batch is."""
    inside = [message(name, place, state="scheduled") for name in names]
    end = message("coalesced", place, finished=finished, input_sizes=[], output_sizes=[])
    return [*inside, end]


def write(folder: Path, *ranks: list[Any], world: int = 0) -> list[flight_recorder.RecorderDump]:
    for rank, entries in enumerate(ranks):
        document = {
            "entries": entries,
            "pg_config": {
                "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world or len(ranks))))}
            },
            "pg_status": {},
            "version": "2.10",
        }
        (folder / f"trace_{rank}.json").write_text(json.dumps(document))
    dumps = [flight_recorder.dump(str(folder / f"trace_{rank}.json")) for rank in range(len(ranks))]
    return [one for one in dumps if one]


def found(dumps: list[flight_recorder.RecorderDump]) -> list[tuple[str, int | None]]:
    return [(event.kind, event.rank) for event in flight_recorder.events(dumps)]


GOOD = [entry(1), entry(2)]


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


def test_the_stack_is_that_of_the_program(tmp_path: Path) -> None:
    frames = [
        {"name": "all_reduce", "filename": "/x/torch/distributed/c.py", "line": 1},
        {"name": "step\x1b[2J", "filename": "/srv/train.py", "line": 7},
    ]
    (event,) = flight_recorder.events(
        write(tmp_path, [entry(1, op="nccl:broadcast", frames=frames)], [entry(1)], [entry(1)])
    )
    assert "called at /srv/train.py:7 in step?[2J" in event.text


SEND, RECV = message("send 0->1", 1), message("recv 1<-0", 1)
SENT, RECEIVED = message("send 0->1", 1, finished=True), message("recv 1<-0", 1, finished=True)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (([SEND], [RECV]), []),
        (([SENT], [RECEIVED]), []),
        (([SEND], [message("recv 1<-0", 1, size=9)]), ["torch.fingerprint 0 send to rank 1 [[8]]"]),
        (
            ([SENT], [message("recv 1<-0", 1, 8, "Half", True)]),
            ["torch.fingerprint 0 recv from rank 0 [[8]] Half"],
        ),
        (([SENT], [message("recv 1<-0", 1, output_sizes=[[4, 2]])]), []),
        (([], [RECV]), ["torch.behind 0 rank 0 has not called the send for which rank 1 waits"]),
        (([SEND], []), ["torch.behind 1 rank 1 has not called the recv for which rank 0 waits"]),
        (([SENT], []), []),
        (([SENT, message("send 0->1", 2)], [RECEIVED]), ["torch.behind 1"]),
        (([SENT, message("send 0->1", 2, 9)], [RECEIVED, message("recv 1<-0", 2)]), ["torch.fingerprint 0"]),
        (([message("send 0->1", 900, 9)], [message("recv 1<-0", 700)]), ["torch.fingerprint 0"]),
        (([message("send 0->1", 900, 9, finished=True)], [message("recv 1<-0", 700, finished=True)]), []),
        (
            ([SEND, message("recv 0<-1", 2)], [message("send 1->0", 1), message("recv 1<-0", 2)]),
            ["torch.fingerprint 0 rank 0 waits for rank 1 in send to rank 1 [[8]] Float, rank 1 waits for rank 0"],
        ),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0", "recv 1<-0")), []),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0")), ["torch.behind 1 has not called the recv"]),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0", finished=True)), ["torch.behind 1"]),
        (([*GOOD, waits(3)], [*GOOD, RECV]), ["torch.fingerprint 0 rank 0 waits for rank 1 in all_reduce"]),
        (([SEND], [], [RECV]), ["torch.behind 1"]),
        (([message("send 0->0", 1)], []), []),
    ],
)
def test_what_the_dumps_show_of_messages(
    tmp_path: Path, ranks: tuple[list[Any], ...], expected: list[str]
) -> None:
    events = list(flight_recorder.events(write(tmp_path, *ranks)))
    assert len(events) == len(expected)
    for event, words in zip(events, expected, strict=True):
        kind, rank, *text = words.split(maxsplit=2)
        assert (event.kind, str(event.rank)) == (kind, rank)
        assert " ".join(text) in event.text


def test_ranks_of_a_subgroup_are_those_of_the_world(tmp_path: Path) -> None:
    write(tmp_path, [], [message("send 0->1", 1, process_group=["7", "tp"])], [])
    for file in tmp_path.iterdir():
        document = json.loads(file.read_text())
        document["pg_config"]["7"] = {"name": "7", "desc": "tp", "ranks": "[1, 2]"}
        file.write_text(json.dumps(document))
    dumps = [flight_recorder.dump(str(file)) for file in sorted(tmp_path.iterdir())]
    (event,) = flight_recorder.events([one for one in dumps if one])
    assert (event.kind, event.rank, event.get("ranks")) == ("torch.behind", 2, "2")


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
    assert "collective #1 of process group 0, in another order" in events[0].text


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


def test_pickles_are_read_only_when_trusted_and_hold_no_programs(tmp_path: Path) -> None:
    (dump,) = write(tmp_path, GOOD)
    pickled = tmp_path / "nccl_trace_rank_0"
    pickled.write_bytes(pickle.dumps(json.loads(Path(dump.file).read_text())))
    with pytest.raises(BadInput, match="pickled"):
        flight_recorder.dump(str(pickled))
    read = flight_recorder.dump(str(pickled), trust_pickle=True)
    assert read is not None
    assert read.groups == dump.groups
    pickled.write_bytes(pickle.dumps({"entries": [], "pg_config": {}, "x": Path("/")}))
    assert flight_recorder.dump(str(pickled), trust_pickle=True) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trace_0.json", "{}"),
        ("trace_0.json", '{"entries": 5, "pg_config": {}}'),
        ("trace_0.json", '{"entries": [{"is_p2p": false}], "pg_config": {}}'),
        ("trace_0.json", '{"entries": [], "pg_config": {}'),
        ("trace.json", '{"entries": [], "pg_config": {}}'),
        ("rank0", "step 5\n"),
    ],
)
def test_what_is_no_dump_is_read_as_a_log(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert flight_recorder.dump(str(tmp_path / name)) is None
    assert run.triage([str(tmp_path)], ()).root_cause == "none"
