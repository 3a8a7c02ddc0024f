"""NCCL's lines about channels, which are most of a large log: alike ones are counted, not taken apart one by one.

Two of them are alike when they differ in nothing but the numbers of ranks, devices and processes: one host says
the same way. The first few of each kind are read as any other line.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.logs.base import Event

_MARK = b" NCCL INFO Channel "
_DIGITS = b"0123456789"
_WRITER = re.compile(rb"([^\n]*?)([A-Za-z0-9][\w.-]{0,79}):\d+:\d+ \[\d+\]", re.ASCII)
_READ_OF_EACH = 4
_MOST_KEYS = 50_000
"""Prefixes that are remembered: where each line has a time of its own, more would only cost memory."""

_Shape = tuple[bytes, bytes, bytes]


@dataclass(slots=True)
class Alike:
    """Lines that are alike."""

    seen: int = 0
    handed: int = 0
    """Of them, those whose events were handed on."""
    event: Event | None = None
    """What they say."""


class Channels:
    """Takes the lines about channels out of the blocks of one log."""

    def __init__(self) -> None:
        self._shapes: dict[_Shape, Alike] = {}
        self._keys: dict[tuple[bytes, bytes], Alike] = {}

    def without(self, block: bytes, number: int) -> Iterator[tuple[int, bytes, Alike | None]]:
        """(number of the first line, lines, what they are alike to) of all that is to be read."""
        first, *pieces = block.split(_MARK)
        cut = first.rfind(b"\n") + 1
        if cut or not pieces:
            yield number, first[:cut] if pieces else first, None
        number += first.count(b"\n")
        before, keys = first[cut:], self._keys
        shapes = block.translate(None, _DIGITS).split(_MARK)[1:]
        if len(pieces) > 1 and self._all_known([before, *[_behind(piece) for piece in pieces[:-2]]], shapes[:-1]):
            number += len(pieces) - 1
            before, pieces, shapes = _behind(pieces[-2]), pieces[-1:], shapes[-1:]
        for piece, shape in zip(pieces, shapes, strict=True):
            if alike := keys.get(
                (before, shape)
            ):  # only whole lines have keys: one that ends, and what is before the next
                alike.seen += 1
                number += 1
                before = _behind(piece)
                continue
            head, end, tail = piece.partition(b"\n")
            if not end and piece is not pieces[-1]:  # two writers in one line
                before += _MARK + head
                continue
            alike = self._met(before, head, shape if tail.count(b"\n") == 0 and end else None)
            if alike is None or alike.seen <= _READ_OF_EACH:
                yield number, before + _MARK + head, alike
            number += 1
            cut = tail.rfind(b"\n") + 1
            if cut:
                yield number, tail[:cut], None
                number += tail.count(b"\n")
            before = tail[cut:]

    def _all_known(self, befores: list[bytes], shapes: list[bytes]) -> bool:
        """Count lines in one go, if all of them are known."""
        counts = Counter(zip(befores, shapes, strict=True))
        if not counts.keys() <= self._keys.keys():
            return False
        for key, count in counts.items():
            self._keys[key].seen += count
        return True

    def _met(self, before: bytes, head: bytes, key: bytes | None) -> Alike | None:
        """The lines that this one is alike to, itself included; None when it is not a plain one."""
        writer = _WRITER.fullmatch(before)
        if writer is None or b" via " not in head:
            return None
        shape = (writer[1].translate(None, _DIGITS), writer[2], head.translate(None, _DIGITS))
        alike = self._shapes.setdefault(shape, Alike())
        alike.seen += 1
        if key is not None and alike.seen >= _READ_OF_EACH and len(self._keys) < _MOST_KEYS:
            self._keys[before, key] = alike
        return alike

    def counted(self) -> Iterator[tuple[Event, int]]:
        """An event for each kind of line, and how many more lines say the same."""
        for alike in self._shapes.values():
            if alike.event and alike.seen > alike.handed:
                yield alike.event, alike.seen - alike.handed


def _behind(piece: bytes) -> bytes:
    """What follows the first line of a piece."""
    return piece.partition(b"\n")[2]
