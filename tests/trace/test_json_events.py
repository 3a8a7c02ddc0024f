"""The reader of events: whole, cut, damaged, deep, long, and in any pieces."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from nccltool.trace import json_events
from nccltool.trace.json_events import EVENTS, TraceEventReader

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=20),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
DOCUMENTS = some.dictionaries(some.text(max_size=6).filter(lambda key: key != EVENTS), VALUES, max_size=4)


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _read(text: str | bytes, size: int = 7) -> tuple[list[tuple[str, Any]], TraceEventReader]:
    reader = TraceEventReader(_pieces(text if isinstance(text, bytes) else text.encode(), size))
    return list(reader.entries()), reader


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that files of some bytes need many reads."""
    monkeypatch.setattr(json_events, "_FILL", 16)
    monkeypatch.setattr(json_events, "MOST_OF_A_VALUE", 200)


@settings(deadline=None, max_examples=200)
@given(
    DOCUMENTS, some.lists(VALUES, max_size=5), some.sampled_from([None, 1]), some.booleans(), some.integers(1, 9)
)
def test_what_json_has_is_read(head: Any, events: Any, indent: Any, is_ascii: bool, size: int) -> None:
    text = json.dumps({**head, EVENTS: events}, indent=indent, ensure_ascii=is_ascii)
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    entries, reader = _read(text, size)
    assert entries == [(key, value) for key, value in json.loads(text).items() if key != EVENTS] + [
        (EVENTS, value) for value in json.loads(text)[EVENTS]
    ]
    assert (reader.skipped, reader.ends_early, reader.why_not) == (0, False, "")


@settings(deadline=None, max_examples=200)
@given(some.binary(max_size=300) | some.text(alphabet='{}[],:"\\ 1en', max_size=80).map(str.encode))
def test_anything_comes_to_an_end(data: bytes) -> None:
    for begin in (b"", b"[", b'{"traceEvents": ['):
        _read(begin + data)


@settings(deadline=None, max_examples=100)
@given(some.integers(0, 200))
def test_a_cut_trace_has_its_first_events(cut: int) -> None:
    events = [{"name": f"event {number}", "ts": number} for number in range(6)]
    text = json.dumps({EVENTS: events})[:cut]
    entries, reader = _read(text)
    assert [value for _, value in entries] == events[: len(entries)]
    assert reader.ends_early or not text or cut >= len(json.dumps({EVENTS: events}))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("bad", "skipped"),
    [
        ('{"name": "a\\q"}', 1),
        ('{"name": nothing}', 1),
        ('{"a": [1, {"b": "]}\\""}], "c": +}', 1),
        ('{"name": "' + "long" * 100 + '"}', 1),
        ('{"a": ' + "[" * 3000 + "]" * 3000 + "}", 1),
        ('{"ts": ' + "9" * 150 + "}", 0),
    ],
)
def test_a_bad_event_is_left_out(bad: str, skipped: int) -> None:
    entries, reader = _read(f'{{"traceEvents": [{{"ts": 1}}, {bad}, {{"ts": 2}}], "z": 3}}', 64)
    found = [value for key, value in entries if key == EVENTS]
    assert (found[0], found[-1], entries[-1]) == ({"ts": 1}, {"ts": 2}, ("z", 3))
    assert (len(found), reader.skipped, reader.ends_early) == (3 - skipped, skipped, False)


def test_huge_numbers_and_deep_nesting() -> None:
    deep, digits = "[" * 200_000 + "]" * 200_000, "9" * 5000
    entries, reader = _read(f'[{{"ts": {digits}}}, {deep}, {{"ts": 1}}]', 1 << 16)
    assert (entries, reader.skipped, reader.ends_early) == ([(EVENTS, {"ts": 1})], 2, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("no trace", "it is not JSON"),
        ("3", "it is not JSON"),
        ('"traceEvents"', "it is not JSON"),
        ('{"a": 1}', "it has no traceEvents"),
        ('{"traceEvents": 3}', "it has no traceEvents"),
    ],
)
def test_no_trace(text: str, why: str) -> None:
    assert _read(text)[1].why_not == why


@pytest.mark.parametrize("text", ['[{"ts": 1}', '{"traceEvents": [{"ts": 1}', '{"traceEvents": [{"ts": 1}, {"ts"'])
def test_an_open_end(text: str) -> None:
    entries, reader = _read(text)
    assert (entries, reader.ends_early) == ([(EVENTS, {"ts": 1})], True)


def test_a_million_events_take_no_memory() -> None:
    """The text that is held is bounded, whatever the size of the file."""
    one = b'{"ph": "X", "name": "aten::mm", "ts": 1.5, "dur": 2},\n' * 1000
    reader = TraceEventReader(iter([b"[", *([one] * 1000), b"1]"]))
    longest = count = 0
    for _ in reader.entries():
        count += 1
        longest = max(longest, len(reader._text))
    assert count == 1_000_001
    assert longest < 2 * json_events._FILL
