"""Whatever is done for speed changes no event: RE2, plain lines, blocks of channels, kinds that have ended."""

import sys
from collections.abc import Callable, Iterator
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.logs import channel_lines, nccl, patterns, reader
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


SHORTCUTS = [without_re2, without_plain_lines, without_blocks]


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
