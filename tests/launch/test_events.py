"""The event stream: what goes in comes out, whatever else is in the stream."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nccltool.hosts.counters import Growth, Peer
from nccltool.launch import events
from nccltool.launch.events import MAX_LINE, RECORD_SEPARATOR, Event, EventReader
from nccltool.launch.stopped import StoppedProcess
from nccltool.probe.events import (
    OF_PROBES,
    SAMPLES_PER_EVENT,
    Grouped,
    MeasuredWorld,
    PluginRaised,
    Result,
    Samples,
    WrongData,
)
from nccltool.probe.traffic import UnevenTraffic
from nccltool.probe.transport import Limit
from nccltool.train.events import (
    OF_TRAININGS,
    Built,
    CheckpointSaved,
    Compared,
    Diverged,
    Flowed,
    InputDealt,
    InputTimed,
    InputWrong,
    MemorySeen,
    NotCompared,
    NotTrained,
    OfRanks,
    Passed,
    Resumed,
    Routed,
    Shares,
    TimedSteps,
    TrainedStep,
    VariantTimed,
    VariantTried,
)
from tests.samples import facts, finding
from tests.train.test_judge import SHAPE

READER = EventReader(*events.EVERYWHERE, *OF_PROBES, *OF_TRAININGS)
EVENTS: list[events.Event] = [
    events.Node(
        node=3,
        host="beta",
        host_id="b 4026531840",
        nccltool="0.1.0",
        gpus=8,
        addresses=("10.0.0.2", "fd00::2"),
        port=29500,
        data_port=40001,
    ),
    events.Counted(
        host="alpha",
        addresses=("10.0.0.1",),
        seconds=12.5,
        growth=(Growth("eth0", "rx_crc_errors", 3, 1000),),
        peers=(Peer("10.0.0.2", 1000, 3, 5000, 0.25),),
        unread=("/sys/class/net cannot be read",),
    ),
    events.Starting(),
    events.HalfOpen(node=1, callers=("10.0.0.2", "fd00::2")),
    events.Reached(
        node=3, goal=0, port=29500, addresses=("10.0.0.1",), failures=("172.17.0.1: Connection refused",)
    ),
    events.Refused(connections=70, addresses=("10.0.0.9",)),
    events.FactsPiece(node=3, number=0, of=2, text="eJw="),
    events.Spawned(rank=1, node_rank=0, host="alpha", pid=4711),
    events.Hello(facts=facts(1)),
    events.Hello(facts=facts(3, gpu=None, gpu_name=None, nccl=None, host_addresses=None)),
    events.Met(rank=3, run_id="20250102T030405Z-beef"),
    MeasuredWorld(
        world_size=4,
        emulated=True,
        backend="gloo",
        backend_version="2.13.0",
        backend_reason="no rank has a CUDA device",
        steps=80,
    ),
    events.Enter(rank=1, step=0, op="all_reduce", bytes=1024),
    Samples(step=0, ns=(1, 2, 3)),
    Grouped(
        number=1,
        name="rail 1",
        ranks=(1, 3),
        nodes=("alpha", "beta"),
        limits=(Limit(op="all_reduce", busbw_bytes_per_s=5e10),),
    ),
    Result(
        step=0,
        op="all_reduce",
        count=256,
        bytes=1024,
        bytes_per_rank=1024,
        dtype="float32",
        reduce_op="sum",
        placement="in-place",
        cadence="isolated",
        noisy=True,
        wrong=None,
        late_rank=1,
        late_s=0.002,
        late_ranks=((1, 0.002),),
        traffic=UnevenTraffic(skew="one-hot", imbalance=4.0, busiest_rank=0, unknown_reason="so"),
    ),
    PluginRaised(rank=1, op="far_exchange", bytes=1024, text="nccltool-acme 0.1.0: its bus_factor raised"),
    WrongData(
        rank=1,
        step=0,
        op="all_reduce",
        bytes=1024,
        elements=2,
        first_index=128,
        got="7.0",
        expected="6.0",
        source="the reduction",
    ),
    Built(strategy="tensor", shape=SHAPE),
    Routed(strategy="moe", tokens=(3, 0, 5), choices=9),
    TrainedStep(
        step=1,
        strategy="ddp",
        number=2,
        loss="5.5",
        reference_loss="nan",
        gradient_norm="0.5",
        reference_gradient_norm="0.5",
        ns=10**7,
    ),
    InputDealt(strategy="ddp", sequences=257, epoch_steps=32, left_out=1),
    InputTimed(strategy="ddp", step=4, first=0, waited_ns=(0, 10**6), stalled_ns=(0, None)),
    InputWrong(strategy="ddp", rank=1, number=3, what="missing", got=(4,), expected=(4, 9)),
    MemorySeen(strategy="ddp", step=4, first=1, bytes=((-1, -1, -1, 2**30), (5, 6, 7, 8))),
    VariantTried(strategy="ddp", number=1, name="static graph", setting="--static-graph", is_exact=True),
    VariantTimed(strategy="ddp", number=1, ns=(10**7, 10**6)),
    Diverged(
        rank=1,
        step=1,
        strategy="ddp",
        number=2,
        what="gradient",
        got="inf",
        expected="0.5",
        error="inf",
        tolerance=1e-5,
        shares=Shares.of((1.0, 0.0)),
    ),
    Compared(rank=1, strategy="ddp", micro_batches=2, errors=(("loss", "nan", 1e-5),), rule="step x 1"),
    TimedSteps(
        step=6,
        strategy="ddp",
        sequences=8,
        tokens=256,
        without_sync_ns=10**7,
        alone_ns=None,
    ),
    OfRanks(strategy="ddp", step=6, first=0, ns=(1, 2), peak_bytes=(2**28, None)),
    Flowed(
        strategy="pipeline",
        ranks=2,
        micro_batches=4,
        stages=1,
        computing_ns=11 * 10**6,
        running_ns=2 * 10**8,
    ),
    Passed(strategy="pipeline", rank=1, passes=((0, 1, 0, 0, 10**6), (1, 1, 0, 10**6, 3 * 10**6))),
    CheckpointSaved(strategy="ddp", number=4, bytes=2127983, ns=226192667),
    Resumed(strategy="ddp", number=4, folder="/c/ddp/step-000004", ranks_then=2, sequences=8, ns=251605735),
    events.Anew(attempt=1),
    NotCompared(strategy="ddp", rank=1, reason="rank 1 ran out of memory in the reference: 2 GiB"),
    NotTrained(strategy="tensor", reason="4 attention heads cannot be split across 3 ranks"),
    events.Reported(finding=finding()),
    events.Failed(rank=1, in_collective=True, text="RuntimeError: closed\nby peer", trace="Traceback ..."),
    events.Beat(rank=1, phase="timing", step=0, calls=7, state="S"),
    events.Exited(rank=1, code=-9),
    events.AgentKilled(node_rank=1, host="beta", code=-9),
    events.Stopped(node=1, host="beta", processes=(StoppedProcess(pid=7, role="supervisor", below=(8,)),)),
    events.Log(rank=1, text='a line with "quotes", \\ and \x1e'),
    events.Stack(rank=1, text="  File a\n  File b"),
    events.Bye(rank=1),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_the_stream(event: events.Event) -> None:
    line = events.encode(event)
    assert line.startswith(RECORD_SEPARATOR)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == line.count(RECORD_SEPARATOR) == 1
    assert READER.decode(line) == event
    assert READER.decode(line[:-1]) == event


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event) for event in EVENTS} == {*events.EVERYWHERE, *OF_PROBES, *OF_TRAININGS} - {events.World}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_other_programs_can_read_it(event: events.Event) -> None:
    plain = json.loads(events.encode(event)[1:])
    assert plain["event"] == type(event).__struct_config__.tag
    assert plain.keys() - {"event"} <= set(event.__struct_fields__)


TEXTS = (
    st.text(max_size=3000)
    | st.text(st.characters(max_codepoint=0x1F), max_size=2000)
    | st.sampled_from(
        [
            "x" * 10**5,
            "\0" * 9000,
            '"' * 9000,
            "\\" * 5000,
            "\U0001f600" * 4000,
            "\udcff" * 3000,
            "é" * 2048,
            "\ud83d",
        ]
    )
)


@settings(max_examples=30)
@given(text=TEXTS, trace=TEXTS)
def test_no_line_is_longer_than_a_write_that_cannot_be_split(text: str, trace: str) -> None:
    for event in (
        events.Failed(rank=3, in_collective=True, text=text, trace=trace),
        events.Log(rank=3, text=text),
        events.Reported(finding=finding(message=text, evidence=(trace, text), remedy=trace)),
        events.Hello(facts=facts(0, gpu_name=text)),
    ):
        line = events.encode(event)
        assert len(line) <= MAX_LINE
        assert type(READER.decode(line)) is type(event)


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (events.Log(rank=1, text="x" * 4000), "x" * 4000),
        (events.Log(rank=1, text="begin" + "x" * 9000 + "end"), "..." + "x" * 2042 + "end"),
        (events.Log(rank=1, text="caf\udce9"), "caf?"),
    ],
)
def test_what_is_kept_of_a_text(event: events.Log, kept: str) -> None:
    assert READER.decode(events.encode(event)) == events.Log(rank=1, text=kept)


def test_a_line_that_just_fits_stays_whole() -> None:
    room = MAX_LINE - len(events.encode(events.Log(rank=1, text="")))
    fits, too_long = (events.Log(rank=1, text="x" * length) for length in (room, room + 1))
    assert READER.decode(events.encode(fits)) == fits
    assert READER.decode(events.encode(too_long)) != too_long


def test_short_texts_stay_whole_beside_a_long_one() -> None:
    event = events.Failed(rank=1, in_collective=False, text="ValueError: no", trace="x" * 10**5)
    shown = READER.decode(events.encode(event))
    assert isinstance(shown, events.Failed)
    assert (shown.text, shown.rank) == (event.text, 1)


def test_as_many_samples_fit_as_are_sent_at_once() -> None:
    samples = Samples(step=10**6, ns=(2**63 - 1,) * SAMPLES_PER_EVENT)
    assert READER.decode(events.encode(samples)) == samples


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"a line of a log",
        b'{"event":"bye","rank":1}',  # no separator
        b"\x1e",
        b"\x1e\n",
        b'\x1e{"event":"bye","rank":1',  # cut
        b'\x1e{"event":"bye","rank":"1"}',
        b'\x1e{"event":"bye"}',
        b'\x1e{"event":"unheard-of","rank":1}',
        b'\x1e{"rank":1}',
        b'\x1e{"event":"log","rank":1,"text":"\xff"}',
        b'\x1e{"event":"log","rank":1,"text":"\\udcff"}',
        b'\x1e{"event":"bye","rank":1}{"event":"bye","rank":2}',
        b'\x1e{"event":"bye","rank":1e400}',
        b'\x1e{"event":"bye","rank":1,"more":' + b"[" * 10**5 + b"]" * 10**5 + b"}",
        b"\x1e[]",
        b"\x1enull",
    ],
)
def test_what_is_no_event_is_log_text(line: bytes) -> None:
    assert READER.decode(line) is None


def test_an_event_of_a_later_release_is_read_as_far_as_it_is_known() -> None:
    assert READER.decode(b'\x1e{"event":"bye","rank":1,"new":{"key":[1]}}') == events.Bye(rank=1)


@given(st.binary(max_size=200))
def test_decoding_anything_never_raises(line: bytes) -> None:
    assert READER.decode(line) is None or line.startswith(RECORD_SEPARATOR)
    event = READER.decode(RECORD_SEPARATOR + line)
    assert event is None or isinstance(event, Event)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(event=st.sampled_from(EVENTS), key=st.integers(0, 30), value=JSON)
def test_a_damaged_value_never_raises(event: events.Event, key: int, value: Any) -> None:
    plain = json.loads(events.encode(event)[1:])
    plain[list(plain)[key % len(plain)]] = value
    shown = READER.decode(RECORD_SEPARATOR + json.dumps(plain).encode())
    assert shown is None or isinstance(shown, Event)


@given(event=st.sampled_from(EVENTS), place=st.integers(0, MAX_LINE), byte=st.integers(0, 255))
def test_a_damaged_byte_never_raises(event: events.Event, place: int, byte: int) -> None:
    line = bytearray(events.encode(event))
    line[place % len(line)] = byte
    assert READER.decode(bytes(line)) is None or line.startswith(RECORD_SEPARATOR)


def test_of_very_much_evidence_the_first_lines_are_sent() -> None:
    lines = tuple(f"line {number}" for number in range(1000))
    shown = READER.decode(events.encode(events.Reported.of(finding(evidence=lines))))
    assert shown == events.Reported(finding=finding(evidence=(*lines[:23], "and 977 more lines")))


def test_a_world_of_a_backend_that_is_not_known_is_not_read() -> None:
    world = (
        b'{"event":"world","world_size":4,"emulated":false,"backend":"%s",'
        b'"backend_version":"1","backend_reason":"","steps":1}'
    )
    assert events.decode(b"\x1e" + world % b"gloo") is not None
    assert events.decode(b"\x1e" + world % b"gloo\xe2\x80\xa8") is None
