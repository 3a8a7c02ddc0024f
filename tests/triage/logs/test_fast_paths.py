"""Whatever is done for speed changes no event: RE2, plain lines, blocks of channels, kinds that have ended."""

import sys
from collections.abc import Callable, Iterator
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.logs import channel_lines, dull_lines, nccl, patterns, reader
from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import LogReader
from tests.incidents import INCIDENTS, Incident
from tests.triage.logs.test_channel_lines import channel


def read(text: bytes, size: int = 1 << 16) -> list[LogEvent]:
    patterns.literals.cache_clear()
    return list(LogReader().read("log", [text[at : at + size] for at in range(0, len(text), size)]))


def without_re2(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "re2", None)
    for module, cached in ((patterns, "_engine"), (reader, "_search_without")):
        patch.setattr(module, cached, lru_cache(getattr(module, cached).__wrapped__))


def without_plain_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nccl.PlainInfoLines, "plain", lambda self, number, text: None)


def without_blocks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(channel_lines.ChannelLines, "without", lambda self, block: self._one_by_one(block))


def without_dull_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dull_lines.DullLines, "learn", lambda self, *line, is_full: None)


SHORTCUTS = [without_re2, without_plain_lines, without_blocks, without_dull_lines]


def labelled(log: str) -> bytes:
    """Behind the time and the pod of a collector, with colours and carriage returns."""
    lines = log.splitlines()
    head = "2026-01-02T03:04:05.{0:09}Z [pod/train-0/main] \x1b[36m"
    return "".join(f"{head.format(number)}{line}\x1b[0m\r\n" for number, line in enumerate(lines)).encode()


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[list[LogEvent], list[LogEvent]]]:
    return {one.name: (read(one.log.encode()), read(labelled(one.log))) for one in INCIDENTS}


@pytest.mark.parametrize("shortcut", SHORTCUTS)
@pytest.mark.parametrize("incidents", [INCIDENTS[::4], pytest.param(INCIDENTS, marks=pytest.mark.slow)])
def test_logs_say_the_same_without_it(
    shortcut: Callable[[pytest.MonkeyPatch], None],
    incidents: tuple[Incident, ...],
    expected: dict[str, tuple[list[LogEvent], list[LogEvent]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shortcut(monkeypatch)
    for one in incidents:
        assert (read(one.log.encode()), read(labelled(one.log))) == expected[one.name], one.name


_LINES = st.sampled_from(
    [
        *(
            channel(host, rank, way)
            for host in ("node-1", "node-12")
            for rank in (1, 9)
            for way in ("SHM", "NET/IB/0")
        ),
        channel("node-1", 1, "P2P", label="2026-01-02T03:04:05.12Z "),
        channel("node-1", 1, "P2P", label="2026-01-02T03:04:07.5Z "),
        channel("node-1", 1, "P2P", label="[rank1]: "),
        "n1:1:1 [0] NCCL INFO Channel 00/02 :    0   1",
        "n1:1:1 [0] NCCL INFO Channel 01/02 : ",
        "n1:1:1 [0] NCCL INFO Using network IB",
        "n2:1:1 [0] NCCL WARN Call to accept failed : Too many open files",
        " NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM",
        "step 5",
        "",
        "Traceback (most recent call last):",
        "KeyError: 'x'",
    ]
)


@given(
    st.lists(st.tuples(_LINES, st.sampled_from(["\n", "\n", "\n", "\n", ""])), max_size=60),
    st.sampled_from([50, 333, 1 << 16]),
)
def test_blocks_are_read_as_their_lines(parts: list[tuple[str, str]], size: int) -> None:
    text = "".join(line + end for line, end in parts).encode()
    with pytest.MonkeyPatch.context() as patch:
        without_blocks(patch)
        one_by_one = read(text, size)
    assert _known(read(text, size)) == _known(one_by_one)


_REPEATED = st.sampled_from(
    [
        *(f"[rank{rank}]: exit code {code}, loss {code}.5" for rank in (0, 1) for code in (0, 1, 7)),
        *(f"{wrong} of 64 elements are wrong" for wrong in (0, 0, 0, 3)),
        *(f"checked: errors: {errors} failed" for errors in (0, 0, 2)),
        *(f"worker {number} failed to start" for number in (1, 2, 3)),
        *(f"step {step} loss 2.{step}" for step in range(6)),
        *(f"load.py:{number}: reading batch {number}" for number in range(4)),
        *(f"time : {second} rank : 1" for second in (10, 11)),
        "n1:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1",
        "n1:1:1 [0] NCCL INFO CPU/-1 (1/1/2)",
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in <module>',
        "MyProblem: 3",
        " 10%|# | 1/9 [00:01<00:09, 1.1it/s]\r 20%|# | 2/9 [00:01<00:09, 1.1it/s]",
        "torch.distributed.elastic.multiprocessing.errors: exitcode: 1",
    ]
)


@given(st.lists(_REPEATED, max_size=120), st.sampled_from([80, 400, 1 << 16]), st.sampled_from([3, 2000]))
def test_lines_of_a_dull_shape_say_nothing(lines: list[str], size: int, most: int) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_REPEATS", most)
        patch.setattr(reader, "_GOES_ON_BEHIND", 1)
        found = read(text, size)
        without_dull_lines(patch)
        assert read(text, size) == found


def test_steps_behind_a_failure_are_read_however_many_came_before() -> None:
    steps = [f"iteration {number} loss 2.5" for number in range(9000)]
    text = "\n".join([*steps[:5000], "RuntimeError: CUDA error: an illegal memory access", *steps[5000:]]).encode()
    behind = [one for one in read(text) if one.kind == "job.progress" and one.line > 5001]
    assert len(behind) == reader._GOES_ON_BEHIND


def _known(events: list[LogEvent]) -> list[str]:
    """Events with their places; of connections hosts, ways and how many: which are read may differ."""
    counts: dict[object, int] = {}
    for event in events:
        of_channel = event.kind == "nccl.channel"
        key = (event.kind, event.host, event.get("via")) if of_channel else (event.kind, event.line, event.text)
        counts[key] = counts.get(key, 0) + (event.repeats or 1)
    return sorted(map(repr, counts.items()))


def long_log() -> Iterator[str]:
    for number in range(3000):
        yield f"n1:1:1 [0] NCCL INFO NCCL_ALGO set to {number}"
        yield f"n1:1:1 [0] NCCL INFO comm 0x{number:x} rank 0 nranks 2 busId 1 commId 0x{number:x} - Init START"
        yield f"n1:1:1 [0] AllReduce: opCount {number} count 5 datatype 1 op 0 root 0 comm 0x1 NCCL_A=b{number}"


def test_what_has_been_said_often_enough_is_no_longer_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join([*long_log(), "n1:1:1 [0] NCCL WARN NCCL_ALGO set to x: Too many open files", ""]).encode()
    found = read(text)
    kinds = {
        kind: sum(event.kind == kind for event in found)
        for kind in ("nccl.env", "nccl.init-start", "limits.files")
    }
    assert kinds == {"nccl.env": reader._REPEATS, "nccl.init-start": 3000, "limits.files": 1}
    monkeypatch.setattr(reader, "_CAN_END", frozenset[str]())
    assert read(text) == found
