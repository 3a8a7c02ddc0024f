"""Releases, symptoms, and conditions of defects, on lines of logs."""

import pytest

from nccltool.triage.defects.base import (
    CRASH,
    HANG,
    ChoicesDiffer,
    Condition,
    Descending,
    Differs,
    Driver,
    Nodes,
    Over,
    RankCount,
    Release,
    Says,
    Set,
    Shows,
    Span,
    Stranger,
    Symptom,
    Unset,
    frame,
    release,
    release_of_nccl,
)
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline

COMM = "n{0}:1:7 [0] NCCL INFO comm 0x5 rank {0} nRanks {1} nNodes {2} localRanks 1 localRank 0 MNNVL 0"
BOOTSTRAP = "n{0}:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{0}<0>"
CHOICE = "n{0}:1:1 [0] NCCL TRACE 4194304 Bytes -> Algo {1} proto 1 time 168.2"
CLOSED = "n1:1:7 [0] misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by remote peer {}<36138>"
TIMEOUT = (
    "[rank0]:[E1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600041 milliseconds"
)
SEGFAULT = "[n1:00100] Signal: Segmentation fault (11)"


def timeline(*lines: str) -> Timeline:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", ["\n".join(lines).encode()]):
        builder.add(event)
    return builder.timeline(reader.lines_read)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.21.5+cuda12.4", (2, 21, 5)),
        ("1.7.4-aws", (1, 7, 4)),
        ("2.27.7-HEAD:1c2aa10", (2, 27, 7)),
        ("560.35.03", (560, 35, 3)),
        ("none", ()),
    ],
)
def test_a_release_is_its_numbers(text: str, expected: Release) -> None:
    assert release(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("21.0.3", (2, 10, 3)), ("21.4.3", (2, 14, 3)), ("2.26.2+cuda12.2", (2, 26, 2))]
)
def test_torch_1_cuts_the_code_of_nccl(text: str, expected: Release) -> None:
    assert release_of_nccl(text) == expected


@pytest.mark.parametrize(
    ("span", "releases", "expected"),
    [
        (Span("NCCL", "2.20.3", "2.20.5"), {(2, 20, 3)}, True),
        (Span("NCCL", "2.20.3", "2.20.5"), {(2, 20, 5), (2, 19, 4)}, False),
        (Span("NCCL", "2.20.3"), {(2, 31, 2)}, True),
        (Span("RCCL", "2.20.3"), {(2, 31, 2)}, False),
        (Span("NCCL", "2.20.3"), set(), False),
    ],
)
def test_a_span_has_releases_of_its_library(span: Span, releases: set[Release], expected: bool) -> None:
    assert span.has({"NCCL": frozenset(releases)}) is expected


@pytest.mark.parametrize(
    ("symptom", "line", "expected"),
    [
        (
            Says("transport/nvls.*invalid"),
            "n1:1:7 [0] transport/nvls.cc:9 NCCL WARN Cuda failure 1 'invalid'",
            True,
        ),
        (
            Says("transport/nvls.*invalid"),
            "n1:1:7 [0] transport/p2p.cc:9 NCCL WARN Cuda failure 1 'invalid'",
            False,
        ),
        (Says("Bootstrap"), BOOTSTRAP.format(1), False),
        (Says("Bootstrap", ("nccl.bootstrap",)), BOOTSTRAP.format(1), True),
        (frame("waitWorkFifoAvailable"), "    waitWorkFifoAvailable (enqueue.cc:745)", True),
        (frame("pathDistance"), "#0  0x00007f1f in pathDistance (links=0x0) at graph/topo.cc:618", True),
        (frame("Distance"), "#0  0x00007f1f in pathDistance (links=0x0) at graph/topo.cc:618", False),
        (HANG, TIMEOUT, True),
        (HANG, SEGFAULT, False),
        (CRASH, SEGFAULT, True),
        (CRASH, TIMEOUT, False),
    ],
)
def test_a_symptom_is_a_line(symptom: Symptom, line: str, expected: bool) -> None:
    assert (symptom.event(timeline(line)) is not None) is expected


@pytest.mark.parametrize(
    ("condition", "lines", "expected"),
    [
        (Set("NCCL_SHM_DISABLE", "1"), ["n1:1:1 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1."], True),
        (Set("NCCL_SHM_DISABLE", "1"), ["n1:1:1 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 0."], False),
        (Unset("NCCL_SHM_DISABLE"), [BOOTSTRAP.format(1)], True),
        (Unset("NCCL_SHM_DISABLE"), ["n1:1:1 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 0."], False),
        (Differs("NCCL_ALGO"), ["n1:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring."], False),
        (
            Differs("NCCL_ALGO"),
            [f"n{i}:1:1 [0] NCCL INFO NCCL_ALGO set by environment to {one}." for i, one in enumerate(("A", "B"))],
            True,
        ),
        (Shows("GB200"), ["node-1: 4 x GB200"], True),
        (Shows("GB200"), ["node-1: 4 x H100"], False),
        (Over("NET/IB"), ["n1:1:7 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"], True),
        (Over("NET/IB"), ["n1:1:7 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via P2P/CUMEM"], False),
        (RankCount(64), [COMM.format(1, 64, 8)], True),
        (RankCount(2, 2), [COMM.format(1, 64, 8)], False),
        (RankCount(1), [SEGFAULT], False),
        (Nodes(8), [COMM.format(1, 64, 8)], True),
        (Nodes(9), [COMM.format(1, 64, 8)], False),
        (ChoicesDiffer(), [CHOICE.format(1, 0), CHOICE.format(2, 1)], True),
        (ChoicesDiffer(), [CHOICE.format(1, 0), CHOICE.format(2, 0)], False),
        (Descending(), ["CUDA_VISIBLE_DEVICES=3,2,1,0 python x.py"], True),
        (Descending(), ["CUDA_VISIBLE_DEVICES=0,1,2,3 python x.py"], False),
        (Driver(12040), ["n1:1:1 [0] NCCL INFO cudaDriverVersion 12020"], True),
        (Driver(12040), ["n1:1:1 [0] NCCL INFO cudaDriverVersion 12080"], False),
        (
            Stranger(r"remote peer (?P<address>[\d.]+)<"),
            [BOOTSTRAP.format(1), BOOTSTRAP.format(2), CLOSED.format("10.9.9.9")],
            True,
        ),
        (
            Stranger(r"remote peer (?P<address>[\d.]+)<"),
            [BOOTSTRAP.format(1), BOOTSTRAP.format(2), CLOSED.format("10.0.0.2")],
            False,
        ),
        (Stranger(r"remote peer (?P<address>[\d.]+)<"), [BOOTSTRAP.format(1), CLOSED.format("10.9.9.9")], False),
    ],
)
def test_a_condition_holds_or_not(condition: Condition, lines: list[str], expected: bool) -> None:
    assert condition.holds(timeline(*lines)) is expected
