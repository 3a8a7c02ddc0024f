"""Sets of times, compared with sets of whole numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nccltool.trace import spans
from nccltool.trace.spans import SpanCollector, Spans

PAIRS = some.lists(some.tuples(some.integers(0, 30), some.integers(0, 30)).map(lambda pair: tuple(sorted(pair))))


def _cells(of: Spans) -> set[int]:
    return {cell for begin, end in of for cell in range(int(begin), int(end))}


@given(PAIRS, PAIRS)
def test_as_sets(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> None:
    a, b = Spans(sorted(one)), Spans(sorted(other))
    assert _cells(a & b) == _cells(a) & _cells(b)
    assert _cells(a - b) == _cells(a) - _cells(b)
    assert _cells(a | b) == _cells(a) | _cells(b)
    assert _cells(a.joined(2)) == _cells(a) | {
        cell for (_, end), (begin, _) in pairwise(a) if begin - end <= 2 for cell in range(int(end), int(begin))
    }
    assert (a.total, len(a), bool(a)) == (len(_cells(a)), len(list(a)), bool(_cells(a)))


@given(PAIRS)
def test_collected_in_any_order(pairs: list[tuple[float, float]]) -> None:
    collector = SpanCollector()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "_PENDING", 2)
        collector._most = 2
        for begin, end in pairs:
            collector.add(begin, end)
        assert list(collector.spans()) == list(Spans(sorted(pairs)))
