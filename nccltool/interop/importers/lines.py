"""Text to the lines of each writer: what terminals, launchers and collectors put around a line is taken off.

The labels of a file are learnt from the lines that only nccl-tests prints: what stands before them there stands
before every line of the same writer. Who that is, and labels of lines without such a neighbour, are told by the
reader of prefixes that triage uses; by the text of the label where it does not know it (journald, stern, grep -n).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nccltool.triage.logs import line_decoder, prefixes

Lines = list[tuple[int, str]]

_ANCHOR = re.compile(
    r"#\s+size\s+count\s+type|# nThread \d+ nGpus \d+|# Using devices|# Out of bounds values\s*:"
    r"|# Avg bus bandwidth\s*:|# Collective test (?:starting|concluded):|# (?:nccl|rccl)-tests version"
)
_LONGEST_LABEL = 200
_MOST_LABELS = 64
"""Kinds of labels that are learnt from one file."""
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} |\d{9,}\.\d+"
)
_PARTS = re.compile(r"\d+|\s+|[^\d\s]+")
_MPI_TIME = re.compile(r"(?:[A-Z][a-z]{2} ){2}[ \d]\d \d\d:\d\d:\d\d \d{4}\s*(?=[\[<])")
"""mpirun --timestamp-output, before the tag."""


@dataclass(slots=True)
class _Label:
    """A label that was learnt: times are left open, other numbers are groups."""

    pattern: re.Pattern[str]
    found: list[tuple[int, re.Match[str]]] = field(default_factory=list)

    def writers(self) -> Iterator[tuple[int, str, str]]:
        """(line, writer, rest); a number that only grows, as that of a line, tells no writers apart."""
        groups = [match.groups() for _, match in self.found]
        columns = [[int(value) for value in column] for column in zip(*groups, strict=True)]
        telling = [index for index, column in enumerate(columns) if any(a > b for a, b in pairwise(column))]
        for number, match in self.found:
            known = prefixes.line("", 0, f"{match[0]}#")
            own = " ".join([self.pattern.pattern, *(match[index + 1] for index in telling)])
            yield number, known.label if known.label and known.text == "#" else own, match.string[match.end() :]


def of_writers(text: str) -> dict[str, Lines]:
    """The numbered lines of each writer by its label; those without a label are of ""."""
    lines = list(_clean(text))
    labels = _learnt(line for _, line in lines)
    found: dict[str, Lines] = {}
    for number, line in lines:
        for label in labels:
            if match := label.pattern.match(line):
                label.found.append((number, match))
                break
        else:
            writer, rest = _unlabelled(line)
            found.setdefault(writer, []).append((number, rest))
    for label in labels:
        for number, writer, rest in label.writers():
            found.setdefault(writer, []).append((number, rest))
    for of_writer in found.values():
        of_writer.sort(key=lambda line: line[0])  # those of one writer can have labels of several kinds
    return found


def _clean(text: str) -> Iterator[tuple[int, str]]:
    """Lines without colours and carriage returns; the last one says nothing when it has no end: it was cut."""
    *lines, cut = text.split("\n")
    for number, whole in enumerate([*lines, ""] if cut else lines, start=1):
        line = whole[: line_decoder.LONGEST_LINE]
        if line.isprintable():
            yield number, line
            continue
        for part in line.split("\r"):
            if part:
                yield number, line_decoder.clean(part.replace("\t", " ").encode(errors="replace"))


def _unlabelled(line: str) -> tuple[str, str]:
    """(writer, rest) of a line whose label was not learnt."""
    if line.startswith((" ", "#")) and not line.lstrip().partition(" ")[0].endswith(":"):
        return "", line  # as most lines of nccl-tests
    start = _MPI_TIME.match(line)
    parsed = prefixes.line("", 0, line[start.end() :] if start else line)
    return parsed.label, parsed.text


def _learnt(lines: Iterator[str]) -> Sequence[_Label]:
    """The labels of a text, the longest first."""
    shapes: set[str] = set()
    for line in lines:
        anchor = _ANCHOR.search(line) if "#" in line else None
        if anchor and 0 < anchor.start() <= _LONGEST_LABEL and len(shapes) < _MOST_LABELS:
            shapes.add(_shape(line[: anchor.start()]))
    return [_Label(re.compile(shape)) for shape in sorted(shapes, key=len, reverse=True)]


def _shape(label: str) -> str:
    """A label as an expression."""
    shape, start = "", 0
    for time in _TIME.finditer(label):
        shape += _of_text(label[start : time.start()], number=r"(\d+)")
        shape += re.sub(r"[A-Za-z]{3}", "[A-Za-z]{3}", _of_text(time[0], number=r"\d+"))
        start = time.end()
    rest = label[start:].rstrip(" ")
    blanks = len(label[start:]) - len(rest)  # collectors cut those before an empty line
    return shape + _of_text(rest, number=r"(\d+)") + (f" {{0,{blanks}}}" if blanks else "")


def _of_text(text: str, *, number: str) -> str:
    parts = _PARTS.findall(text)
    return "".join(number if part.isdigit() else r"\s+" if part.isspace() else re.escape(part) for part in parts)
