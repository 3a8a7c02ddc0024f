"""What files of other benchmarks share: lines, halves made of a time or of a rate, and findings about the file."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.interop.finding_kinds import IMPORT_ANOTHER_TEST, IMPORT_INCONSISTENT, IMPORT_ROWS_MISSING
from nccltool.interop.importers.base import MOST, Half, Printed, printed
from nccltool.probe import collectives
from nccltool.probe.finding_kinds import LEFT_OUT, WRONG_DATA
from nccltool.probe.result import Placement

MEBIBYTES = 2**20 / 1e9
"""GB/s of 1 MiB/s."""
MEGABYTES = 1e-3
"""GB/s of 1 MB/s."""
GIGABITS = 1 / 8
"""GB/s of 1 Gb/s."""
UNKNOWN_DTYPE = ("unknown", 1)
"""Of a file that does not tell; elements are then counted in bytes."""
_SHOWN = 5
_MOST_BYTES = 10**18


@dataclass(frozen=True, slots=True)
class Lines:
    """The complete lines of a text with their numbers, and whether it ends inside one."""

    whole: tuple[tuple[int, str], ...]
    cut: int | None
    """The number of the line that has no end; None = all are whole."""


def lines(content: str) -> Lines:
    *whole, rest = content.split("\n")
    numbered = tuple((number, line.rstrip("\r")) for number, line in enumerate(whole, start=1))
    return Lines(numbered, len(whole) + 1 if rest.strip() else None)


def whole_bytes(text: str) -> int | None:
    """A size in bytes; None = it is not one."""
    return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) and int(text) <= _MOST_BYTES else None


def number(text: str) -> Printed | None:
    """A number that can be a time or a rate; None = it is not one."""
    found = printed(text)
    return found if found and (math.isnan(found.value) or 0 <= found.value <= MOST) else None


def of_time(
    op: str,
    world_size: int,
    size: int,
    time_us: Printed,
    *,
    placement: Placement | None = None,
    wrong: int | None = None,
    min_us: float | None = None,
    max_us: float | None = None,
    p99_us: float | None = None,
    samples_us: tuple[float, ...] = (),
    iterations: int | None = None,
) -> Half:
    """The half that a time in microseconds stands for."""
    least, most = time_us.range
    if time_us.value > 0:
        algbw = size / time_us.value / 1e3
        spread = math.inf if least <= 0 else max(size / least / 1e3 - algbw, algbw - size / most / 1e3)
        rate = Printed(algbw, spread)
    else:
        rate = Printed(time_us.value, 0.0)  # of no time, no rate; nan stays nan
    return Half(
        placement=placement or collectives.get(op).placements[0],
        time=time_us,
        algbw=rate,
        busbw=_bus(op, world_size, rate),
        wrong=wrong,
        min_us=min_us,
        max_us=max_us,
        p99_us=p99_us,
        samples_us=samples_us,
        iterations=iterations,
    )


def of_rate(op: str, world_size: int, size: int, algbw: Printed, *, iterations: int | None = None) -> Half:
    """The half that a rate in GB/s stands for: the time is that from one message to the next."""
    low, high = algbw.range
    if algbw.value > 0:
        time = size / algbw.value / 1e3
        spread = math.inf if low <= 0 else max(size / low / 1e3 - time, time - size / high / 1e3)
        taken = Printed(time, spread)
    else:
        taken = Printed(algbw.value, 0.0)
    return Half(
        placement=collectives.get(op).placements[0],
        time=taken,
        algbw=algbw,
        busbw=_bus(op, world_size, algbw),
        wrong=None,
        iterations=iterations,
    )


def scaled(number: Printed, factor: float) -> Printed:
    return Printed(number.value * factor, number.half * factor)


def _bus(op: str, world_size: int, algbw: Printed) -> Printed:
    factor = collectives.get(op).bus_factor(world_size)
    return scaled(algbw, factor) if factor else Printed(0.0, 0.0)


def looks_like_numbers(line: str, words: Iterable[str] = ()) -> bool:
    """Whether a line can only be a row, or what is left of one: an address or a date is not."""
    first, *others = line.split() or ("",)
    return whole_bytes(first) is not None and all(field in words or number(field) for field in others)


def cut(where: str, problem: str, evidence: Sequence[str] = ()) -> Finding:
    """Rows of the file are missing; the others are kept."""
    return IMPORT_ROWS_MISSING.finding(
        subject=Subject(kind="file", name=where),
        message=f"{where}: {problem}",
        evidence=some(evidence),
        remedy="the complete rows were imported; for the rest import the complete, unchanged output",
    )


def failed_data(where: str, op: str, rows: Sequence[str]) -> Finding:
    """The benchmark checked its data, and it was wrong; such rows are not imported."""
    return WRONG_DATA.finding(
        subject=Subject(kind="file", name=where),
        message=f"{op} delivered wrong data in {counted(len(rows), 'check')}, first: {rows[0]}",
        evidence=some(rows),
        remedy="do not train on these hosts: repeat the test on each half of them to find the one that "
        "corrupts data",
    )


def inconsistent(where: str, problems: Sequence[str]) -> Finding:
    """Numbers that a file has twice are not the same."""
    return IMPORT_INCONSISTENT.finding(
        subject=Subject(kind="file", name=where),
        message=f"numbers contradict each other: {problems[0]}",
        evidence=some(problems[1:]),
        remedy="check that the file is complete and unchanged",
    )


def another_test(where: str, message: str, *evidence: str) -> Finding:
    """What differs from a run of nccltool, so that a comparison says more about the tests than about the hosts."""
    return IMPORT_ANOTHER_TEST.finding(
        subject=Subject(kind="file", name=where), message=message, evidence=tuple(filter(None, evidence))
    )


def left_out(what: str, message: str, evidence: Sequence[str] = ()) -> Finding:
    """What the file has and nccltool has no row for."""
    return LEFT_OUT.finding(subject=Subject(kind="operation", name=what), message=message, evidence=some(evidence))


def some(texts: Sequence[str]) -> tuple[str, ...]:
    more = len(texts) - _SHOWN
    return (*texts[:_SHOWN], f"and {more} more") if more > 0 else tuple(texts)
