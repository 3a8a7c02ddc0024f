"""The printed stream: what goes in comes out, whatever is around it; what was changed on the way is seen."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import RunDirError
from nccltool.launch import events, printed_events
from nccltool.launch.events import Event, EventReader
from nccltool.launch.printed_events import Begin, Begun, End, Teller, ToldRunDir
from tests.launch.test_events import EVENTS, READER
from tests.samples import facts, finding, job
from tests.support.streams import FOLLOWER, LEADER, WORLD, beginning, begun, ended, good, leaving, steps


def told(*said: Event) -> list[bytes]:
    lines: list[str] = []
    teller = Teller(lines.append, LEADER, 3)
    for event in said:
        teller.tell(events.encode(event)[1:])
    return [line.encode() for line in lines]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_with_its_stamp(event: Event) -> None:
    first, second = told(event, event)
    one, other = printed_events.read(first, READER), printed_events.read(second, READER)
    assert one is not None
    assert other is not None
    assert (one.run_id, one.part, one.number, other.number) == (LEADER, 3, 0, 1)
    assert one.event == other.event == event
    assert one.text == events.encode(event)[1:]
    assert READER.decode(first) == event, "who does not know of stamps reads it too"


def test_no_event_has_a_field_that_a_stamp_has() -> None:
    for kind in {type(event) for event in EVENTS} | {Begin, End}:
        assert {"run", "part", "n", "t", "crc"} & set(kind.__struct_fields__) == set()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_lines_are_shorter_than_those_that_container_runtimes_split(event: Event) -> None:
    assert max(map(len, told(event, events.Log(rank=1, text='"' * 9000)))) < 16 * 1024


LINE = told(events.Enter(rank=1, step=7, op="all_reduce", bytes=1024))[0]


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        LINE.rstrip(),
        LINE.replace(b"\n", b"\r\n"),
        b"[pod/probe-0-x/nccltool] " + LINE,
        b"2025-01-02T03:04:05.123456789Z " + LINE,
        b"2025-01-02T03:04:05.123456789Z stdout F " + LINE,
        b"\x1b[32m" + LINE.rstrip() + b"\x1b[0m\n",
        LINE.replace(b",", b"\x1b[0m,\x1b[33m"),
        LINE[1:],
        b'{"event":"x"} ' + LINE,
    ],
)
def test_what_stands_around_an_event_does_no_harm(line: bytes) -> None:
    found = printed_events.read(line, READER)
    assert found is not None
    assert found.event == events.Enter(rank=1, step=7, op="all_reduce", bytes=1024)


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"text", b'{"event":"bye","rank":1}', b'{"event":"x","run":"a","part":1}', b"\x1e", b"\x1etext"],
)
def test_other_text_is_no_event(line: bytes) -> None:
    assert printed_events.read(line, READER) is None


@given(st.integers(0, len(LINE) - 2), st.integers(0, 255))
def test_no_changed_byte_is_taken_for_the_event(place: int, byte: int) -> None:
    line = bytearray(LINE)
    line[place] = byte
    try:
        found = printed_events.read(bytes(line), READER)
    except printed_events.DamagedStream:
        return
    assert found is None or found == printed_events.read(LINE, READER)


@given(st.integers(1, len(LINE) - 2))
def test_a_line_that_is_cut_is_damaged(length: int) -> None:
    start = LINE[:length]
    if b'{"event":"' not in start:
        assert printed_events.read(start, READER) is None
        return
    with pytest.raises(printed_events.DamagedStream):
        printed_events.read(start, READER)


def test_an_event_of_a_later_release_keeps_its_number() -> None:
    lines: list[str] = []
    Teller(lines.append, LEADER, 0).tell(b'{"event":"unheard-of","key":[1]}\n')
    found = printed_events.read(lines[0].encode(), READER)
    assert found is not None
    assert (found.number, found.event) == (0, None)


@given(st.text(max_size=9000))
def test_a_long_document_comes_in_pieces(text: str) -> None:
    start = begun(0, command=("nccltool", text))
    lines: list[str] = []
    Teller(lines.append, LEADER, 0).begin(start)
    pieces = [printed_events.read(line.encode(), EventReader(Begin)) for line in lines]
    read = [piece.event for piece in pieces if piece is not None]
    assert all(isinstance(piece, Begin) for piece in read)
    whole = json.loads("".join(piece.text for piece in read if isinstance(piece, Begin)))
    assert whole["command"] == ["nccltool", text]
    assert [piece.more for piece in read if isinstance(piece, Begin)] == [True] * (len(read) - 1) + [False]
    assert max(map(len, lines)) <= events.MAX_LINE + 200


def test_neither_secrets_nor_the_environment_of_remote_hosts_are_printed() -> None:
    start = replace(
        begun(0),
        job=job(
            run_id=LEADER,
            env={"NCCL_TOKEN": "hush"},
            scratch="/tmp/mine",
            large_files="/nvme/mine",
            secret="c0ffee",
        ),
    )
    lines: list[str] = []
    Teller(lines.append, LEADER, 0).begin(start)
    assert "hush" not in "".join(lines)
    assert "/tmp/mine" not in "".join(lines)
    assert "/nvme/mine" not in "".join(lines)
    assert "c0ffee" not in "".join(lines)


def kinds(lines: list[str]) -> list[tuple[str, int | None]]:
    found = [json.loads(line[1:]) for line in lines]
    return [(event["event"], event["facts"]["rank"] if "facts" in event else event.get("rank")) for event in found]


EVERYBODY = [event for node in (0, 1) for event in (*beginning(node), *steps(node)[-4:], *leaving(node))]


def printed(start: Begun, said: list[Event], folder: Path) -> list[tuple[str, int | None]]:
    lines: list[str] = []
    run_dir = ToldRunDir(folder, start, Teller(lines.append, start.job.run_id, start.part))
    for event in said:
        run_dir.event(events.encode(event)[1:])
    run_dir.close()
    assert (run_dir.path / "events.jsonl").read_text().count("\n") == len(said)
    return kinds(lines)


def test_node_0_prints_its_own_ranks_and_what_has_none(tmp_path: Path) -> None:
    reported = events.Reported(finding=finding())
    killed = [events.AgentKilled(node_rank=node, host="x", code=-9) for node in (0, 1)]
    shown = printed(begun(0), [*EVERYBODY, reported, *killed], tmp_path)
    assert {rank for _, rank in shown} == {0, 1, None}
    assert [kind for kind, rank in shown if rank is None] == [
        "world",
        "samples",
        "samples",
        "result",
        "finding",
        "agent-killed",
    ]


def test_other_nodes_print_what_they_hear(tmp_path: Path) -> None:
    said = [*beginning(1), *leaving(1)]
    assert len(printed(begun(1), said, tmp_path)) == len(said)


def test_who_has_all_nodes_prints_all(tmp_path: Path) -> None:
    start = begun(0, parts=1, job=job(run_id=LEADER))
    assert len(printed(start, EVERYBODY, tmp_path)) == len(EVERYBODY)


def test_rank_0_of_a_launchers_job_prints_itself(tmp_path: Path) -> None:
    start = begun(0, parts=4, job=job(run_id=LEADER, node_ranks=()))
    assert {rank for _, rank in printed(start, EVERYBODY, tmp_path)} == {0, None}


def test_an_output_that_is_closed_ends_the_run(tmp_path: Path) -> None:
    def put(text: str) -> None:
        raise BrokenPipeError

    run_dir = ToldRunDir(tmp_path, begun(0), Teller(put, LEADER, 0))
    with pytest.raises(RunDirError) as error:
        run_dir.event(events.encode(WORLD)[1:])
    run_dir.close()
    assert error.value.message == "the event stream cannot be written to standard output"


def test_the_streams_of_these_tests_are_whole() -> None:
    for node, run_id in ((0, LEADER), (1, FOLLOWER)):
        lines = [printed_events.read(line, READER) for line in good(node)]
        assert [line and (line.run_id, line.part, line.number) for line in lines] == [
            (run_id, node, number) for number in range(len(lines))
        ]
    assert facts(0).rank == 0
    assert ended().nodes == 2
