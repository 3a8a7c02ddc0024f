"""A second reader of published tables, written apart from the importers: one strict expression for a row.

It knows nothing of launchers, archives, or footers. What it finds is what a person would count in the file.
"""

import re
from dataclasses import dataclass

_NUMBER = r"(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|nan|-nan|inf)"
_CHECK = r"(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|N/A)"
_TIMESTAMP = r"\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d"
_ALGORITHM = r"[A-Z]\w*\s+[A-Z]\w*\s+\d+"


def _row(device_time: bool, iterations: bool) -> re.Pattern[str]:
    """A row; in each half maybe a second time (rccl-tests), or four figures of its iterations (nccl-tests)."""
    time = rf"({_NUMBER})" + rf"\s+(?:{_NUMBER}|N/A)" * device_time
    half = rf"{time}\s+({_NUMBER})\s+({_NUMBER})\s+({_CHECK})" + rf"\s+{_NUMBER}" * (4 * iterations)
    return re.compile(
        r"(?:^|\s)(\d+)\s+(\d+)\s+(u?int(?:8|32|64)|char|int|half|float|double|bfloat16|f?p?8_?e[45]m[23])"
        rf"(?:\s+(sum|prod|max|min|avg|mulsum|none))?(?:\s+(-?\d+))?\s+{half}(?:\s+{half})?"
        rf"(?:\s+{_TIMESTAMP})?(?:\s+{_ALGORITHM})?\s*$"
    )


_ROWS = {
    (device, iterations): _row(device, iterations) for device in (False, True) for iterations in (False, True)
}
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Half:
    """One placement of one row, as printed: bytes, type, time in microseconds, bandwidths in GB/s."""

    bytes: int
    dtype: str
    time: str
    algbw: str
    busbw: str


def halves(text: str) -> list[Half]:
    """Every half of every row in a text, in the order of the text."""
    found, row = [], _ROWS[False, False]
    for line in text.split("\n"):
        if " busbw " in line:  # a heading
            row = _ROWS["hipevt" in line, "i_cv%" in line]
        match = row.search(_COLOUR.sub("", line.rstrip("\r")))
        if match is None:
            continue
        size, dtype = int(match[1]), match[3]
        found += [Half(size, dtype, *match.group(at, at + 1, at + 2)) for at in (6, 10) if match[at]]
    return found


_OSU = re.compile(r"\d+[ \t]+\d+(?:\.\d+)?(?:[ \t]+[\d.]+)*[ \t]*")
_PERFTEST = re.compile(r" *\d+[ \t]+\d+(?:[ \t]+-?\d+(?:\.\d+)?){3,8}[ \t]*")


def other_rows(text: str) -> int:
    """How many rows a text has of OSU's tests or, where it has none of these, of perftest."""
    lines = text.split("\n")
    title = next((number for number, line in enumerate(lines) if line.startswith("# OSU")), None)
    if title is None:
        return sum(_PERFTEST.fullmatch(line.rstrip("\r")) is not None for line in lines)
    return sum(_OSU.fullmatch(line.rstrip("\r")) is not None for line in lines[title:])
