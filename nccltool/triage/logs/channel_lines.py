"""NCCL's lines about channels, most of a large log: similar lines are counted, not parsed one by one.

Two of them are alike when they differ in nothing but the numbers of ranks, devices and processes: one host says
the same way. The first few of each kind are read as any other line. Whole blocks are counted at once, by
operations on all of their lines: what is done line by line costs five times as much.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add

from nccltool.triage.logs.base import LogEvent

_MARK = b" NCCL INFO Channel "
_DIGITS = b"0123456789"
_OF_A_RING = _DIGITS + b" /:\r"
"""What the list of the ranks of a ring consists of: such a line says nothing more."""
_END = ord("\n")
_WRITER = re.compile(rb"([^\n]*?)([A-Za-z0-9][\w.-]{0,79}):\d+:\d+ \[\d+\]", re.ASCII)
_READ_OF_EACH = 4
_MOST_KEYS = 50_000
"""Beginnings of lines that are remembered: where no two are alike, more would only cost memory."""
_STAMP_DIGITS = 6
"""Digits in what stands before the name of the host from which on it changes with each line: a time."""

_Shape = tuple[bytes, bytes, bytes]
_Key = tuple[bytes, bytes]
_Told = tuple[int, bytes]
"""The number of the first line, and lines without the end of the last one."""


@dataclass(slots=True)
class AlikeLines:
    """Lines that are alike."""

    seen: int = 0
    handed: int = 0
    """Of them, those whose events were handed on."""
    event: LogEvent | None = None
    """What they say."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines of a block that are to be read."""

    lines: bytes
    numbers: range | list[int]
    """Their numbers in the log."""
    alike: AlikeLines | None = None
    """Of a single line about a channel: those that it is like."""


class ChannelLines:
    """Takes the lines about channels out of the blocks of one log."""

    def __init__(self) -> None:
        self.lines = 0
        """Lines of the blocks so far."""
        self._shapes: dict[_Shape, AlikeLines] = {}
        self._keys: dict[_Key, AlikeLines] = {}
        """What stands before the mark, and behind it without digits."""
        self._pure = False
        """Whether the last block had only lines about channels: then the next one may too."""
        self._stamp = 0
        """Letters of the label, with a time in it, that the lines of this log begin with; 0 = none."""

    def without(self, block: bytes) -> Iterator[LineBlock]:
        """What is to be read of the next block, which ends where a line ends, or is the last one."""
        if self._pure and self._all_known(block):
            return
        first = self.lines + 1
        head, *pieces = block.split(_MARK)
        cut = [piece.partition(b"\n") for piece in pieces]
        before, behind = [head, *[parts[2] for parts in cut]], [parts[0] for parts in cut]
        if not pieces:
            self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
            yield LineBlock(block, range(first, self.lines + 1))
        elif b"" in before[:-1] or not cut[-1][1]:  # writers that share a line, or one that is not finished
            yield from self._one_by_one(block)
        else:
            yield from self._at_once(before, behind)

    def _at_once(self, before: list[bytes], behind: list[bytes]) -> Iterator[LineBlock]:
        """Of lines about channels, cut at the mark; before each, and behind the last one, others may stand."""
        rest, known = before.pop(), len(behind)
        others: list[_Told] = []
        number = first = self.lines + 1  # that of the first line about a channel, if no others come before it
        for place in [place for place, text in enumerate(before) if _END in text]:
            lines, _, before[place] = before[place].rpartition(b"\n")
            others.append((number + place, lines))
            number += lines.count(b"\n") + 1
        if rest:
            lines = rest.removesuffix(b"\n")
            others.append((number + known, lines))
            number += lines.count(b"\n") + 1
        unknown = self._unknown(before, behind)
        self.lines = number + known - 1
        self._pure = not others
        if not unknown:
            yield from _together(others)
            return
        numbers = _numbers(others, known, first)
        news = [(numbers[place], before[place] + _MARK + behind[place]) for place in unknown]
        yield from self._in_order(others, news)

    def _one_by_one(self, block: bytes) -> Iterator[LineBlock]:
        """The same where the lines are not as expected."""
        lines = block.split(b"\n")
        is_whole = not lines[-1]
        told = list(enumerate(lines[:-1] if is_whole else lines, self.lines + 1))
        self.lines += len(told)
        news = [one for one in (told if is_whole else told[:-1]) if one[1].count(_MARK) == 1]
        of_channels = {number for number, _ in news}
        yield from self._in_order([one for one in told if one[0] not in of_channels], news)

    def _in_order(self, others: list[_Told], news: list[_Told]) -> Iterator[LineBlock]:
        """Others, and lines about channels that are not like enough others, in the order of their numbers."""
        waiting: list[_Told] = []
        of_channels = {number for number, _ in news}
        for number, lines in sorted([*others, *news]):
            alike = self._met(lines) if number in of_channels else None
            if alike is None:
                waiting.append((number, lines))
            elif alike.seen <= _READ_OF_EACH:
                yield from _together(waiting)
                waiting = []
                yield LineBlock(lines, range(number, number + 1), alike)
        yield from _together(waiting)

    def _all_known(self, block: bytes) -> bool:
        """Count the lines of a block, if all of them are about channels and like known ones.

        Where a line has two marks or none, the parts are cut elsewhere, and like nothing that is known.
        """
        parts = block.replace(_MARK, b"\n").split(b"\n")
        if len(parts) % 2 == 0 or parts.pop() or self._unknown(parts[::2], parts[1::2], if_all=True):
            self._pure = False
            return False
        self.lines += len(parts) // 2
        return True

    def _unknown(self, before: list[bytes], behind: list[bytes], if_all: bool = False) -> list[int]:
        """Count lines that are like known ones; the places of the others. `if_all`: count all of them or none."""
        shapes = b"\n".join(behind).translate(None, _DIGITS).split(b"\n")
        own = self._without_stamps(before) if self._stamp else before
        counts, known = Counter(zip(own, shapes, strict=True)), self._keys
        is_new = not counts.keys() <= known.keys()
        for key, count in counts.items() if not (is_new and if_all) else ():
            if key in known:
                known[key].seen += count
        places = enumerate(zip(own, shapes, strict=True)) if is_new else ()
        return [place for place, key in places if key not in known]

    def _without_stamps(self, before: list[bytes]) -> list[bytes]:
        """What stands before the marks, without the digits of its label; "?" where the label is a longer one."""
        cut = self._stamp
        labels = b"\n".join([text[:cut] for text in before]).translate(None, _DIGITS).split(b"\n")
        behind = [text[cut:] if text[cut - 1 : cut] == b" " else b"?" for text in before]
        return list(map(add, labels, behind))

    def _met(self, line: bytes) -> AlikeLines | None:
        """The lines that this one is alike to, itself included; None when it is not a plain one."""
        before, _, head = line.partition(_MARK)
        writer = _WRITER.fullmatch(before)
        if writer is None or _MARK in head or not (b" via " in head or not head.translate(None, _OF_A_RING)):
            return None
        label, shape = writer[1].translate(None, _DIGITS), head.translate(None, _DIGITS)
        alike = self._shapes.setdefault((label, writer[2], shape), AlikeLines())
        alike.seen += 1
        if not self._stamp and len(writer[1]) - len(label) >= _STAMP_DIGITS and writer[1].endswith(b" "):
            self._stamp = len(writer[1])
        if alike.seen >= _READ_OF_EACH and len(self._keys) < _MOST_KEYS:
            own = label + before[len(writer[1]) :] if self._stamp else before
            self._keys[own, shape] = alike
        return alike

    def counted(self) -> Iterator[tuple[LogEvent, int]]:
        """An event for each kind of line, and how many more lines say the same, since this was asked last."""
        for alike in self._shapes.values():
            if alike.event and alike.seen > alike.handed:
                more, alike.handed = alike.seen - alike.handed, alike.seen
                yield alike.event, more


def _numbers(others: list[_Told], channels: int, first: int) -> list[int]:
    """The numbers of lines about channels, which are all from the first one on that others do not have."""
    taken = {number + index for number, lines in others for index in range(lines.count(b"\n") + 1)}
    return [number for number in range(first, first + channels + len(taken)) if number not in taken]


def _together(told: list[_Told]) -> Iterator[LineBlock]:
    numbers: list[int] = []
    for number, lines in told:
        numbers.extend(range(number, number + lines.count(b"\n") + 1))
    if told:
        yield LineBlock(b"\n".join([lines for _, lines in told]), numbers)
