"""Sets of times: disjoint spans in order, and what two of them have in common."""

from array import array
from collections.abc import Iterable, Iterator

Span = tuple[float, float]
_PENDING = 1 << 17
"""Spans to collect before they are merged with the others."""


class Spans:
    """Disjoint spans in order, 16 bytes each."""

    __slots__ = ("_begins", "_ends")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        """`spans` are in the order of their begins; those that overlap or touch become one."""
        self._begins, self._ends = array("d"), array("d")
        for begin, end in spans:
            if self._ends and begin <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            elif end > begin:
                self._begins.append(begin)
                self._ends.append(end)

    def __iter__(self) -> Iterator[Span]:
        return zip(self._begins, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._begins)

    def __bool__(self) -> bool:
        return bool(self._begins)

    @property
    def total(self) -> float:
        return sum(end - begin for begin, end in self)

    def joined(self, gap: float) -> "Spans":
        """With the gaps up to this length."""
        found = Spans()
        for begin, end in self:
            if found._ends and begin - found._ends[-1] <= gap:
                found._ends[-1] = end
            else:
                found._begins.append(begin)
                found._ends.append(end)
        return found

    def __and__(self, other: "Spans") -> "Spans":
        return Spans(_common(self, other))

    def __sub__(self, other: "Spans") -> "Spans":
        return Spans(_without(self, other))

    def __or__(self, other: "Spans") -> "Spans":
        return Spans(sorted([*self, *other]))


def _common(first: Spans, second: Spans) -> Iterator[Span]:
    others = iter(second)
    other = next(others, None)
    for begin, end in first:
        while other is not None and other[1] <= begin:
            other = next(others, None)
        while other is not None and other[0] < end:
            yield max(begin, other[0]), min(end, other[1])
            if other[1] > end:
                break
            other = next(others, None)


def _without(first: Spans, second: Spans) -> Iterator[Span]:
    others = iter(second)
    other = next(others, None)
    for begin, end in first:
        while other is not None and other[1] <= begin:
            other = next(others, None)
        while other is not None and other[0] < end:
            if other[0] > begin:
                yield begin, other[0]
            begin = max(begin, other[1])
            if other[1] > end:
                break
            other = next(others, None)
        if begin < end:
            yield begin, end


class SpanCollector:
    """Takes spans in any order; what overlaps is merged now and then, so that nested ones take no memory."""

    def __init__(self) -> None:
        self._merged = Spans()
        self._pending: list[Span] = []
        self._most = _PENDING

    def add(self, begin: float, end: float) -> None:
        self._pending.append((begin, end))
        if len(self._pending) >= self._most:
            self._merge()

    def spans(self) -> Spans:
        if self._pending:
            self._merge()
        return self._merged

    def _merge(self) -> None:
        self._pending.extend(self._merged)
        self._merged = Spans()
        self._pending.sort()
        self._merged = Spans(self._pending)
        self._pending = []
        self._most = max(_PENDING, len(self._merged))
