"""JUDGE a test that was read: do its numbers fit each other, and what do they say."""

import math
from collections.abc import Iterator
from statistics import fmean

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.core.units import format_bytes
from nccltool.interop.finding_kinds import (
    IMPORT_INCONSISTENT,
    IMPORT_NCCL_ERROR,
    IMPORT_ROWS_MISSING,
    IMPORT_TEST_FAILED,
    IMPORT_UNDER_MINIMUM,
)
from nccltool.interop.importers.base import Half, Printed, Report, Row, Told
from nccltool.launch.finding_kinds import WORLD_OF_ONE
from nccltool.probe import collectives
from nccltool.probe.collectives.base import Layout
from nccltool.probe.finding_kinds import LEFT_OUT, WRONG_DATA

_SHOWN = 10
"""Rows that a finding lists; a wrong --ranks shows in all of them."""
_ARITHMETIC = 1e-9
"""Relative error of the arithmetic here and there."""


def findings(test: Report, told: Told) -> tuple[Finding, ...]:
    """What is wrong with the test, or with its file."""
    return (
        *_failed(test),
        *_wrong_data(test),
        *_missing(test),
        *_world_of_one(test, told),
        *_inconsistent(test),
        *_under_minimum(test),
        *_errors(test),
        *_left_out(test),
        *test.found,
    )


def bandwidths(test: Report, row: Row, half: Half) -> tuple[float, float]:
    """(algbw, busbw) in GB/s: as printed, or worked out of the time where that says more digits of the same."""
    algbw = _sharper(half.algbw, _by_time(test, row, half))
    return algbw.value, _sharper(half.busbw, _by_algbw(test, algbw)).value


def _by_time(test: Report, row: Row, half: Half) -> Printed | None:
    """The algbw that the time stands for, where the one is made of the other."""
    least_us, most_us = half.time.range
    if test.cpu_time or least_us <= 0:
        return None
    exact = row.bytes / half.time.value / 1e3
    return Printed(exact, max(row.bytes / least_us / 1e3 - exact, exact - row.bytes / most_us / 1e3))


def _by_algbw(test: Report, algbw: Printed) -> Printed:
    factor = collectives.get(test.op).bus_factor(test.world_size)
    return Printed(algbw.value * factor, algbw.half * factor)


def _sharper(number: Printed, other: Printed | None) -> Printed:
    """The one with more digits, where both can be the same number."""
    if other is None or not _meet(number, other):
        return number
    return min(number, other, key=lambda one: one.half / one.value if one.value else math.inf)


def _meet(one: Printed, other: Printed) -> bool:
    """Whether they can be the same number."""
    (low, high), (least, most) = one.range, other.range
    return low <= most * (1 + _ARITHMETIC) and least * (1 - _ARITHMETIC) <= high


def per_rank(op: str, world_size: int, total: int) -> int:
    """The bytes of one rank's part in `total` bytes of nccl-tests' size."""
    layout = _example(op, world_size)
    return total * layout.bytes_per_rank // layout.bytes


def count(row: Row, op: str, world_size: int) -> int:
    """nccl-tests' count that belongs to the size of a row."""
    layout = _example(op, world_size)
    return row.bytes * layout.count // layout.bytes // row.element_size


def _example(op: str, world_size: int) -> Layout:
    """A layout of bytes whose parts are whole, for the proportions in it."""
    return collectives.get(op).layout(16 * world_size, world_size, 1)


def _file(test: Report) -> Subject:
    return Subject(kind="file", name=test.where)


def _failed(test: Report) -> Iterator[Finding]:
    texts = [*test.stopped, *(text for text in test.failures if not any(text in stop for stop in test.stopped))]
    if texts:
        yield IMPORT_TEST_FAILED.finding(
            subject=_file(test),
            message=f"a test did not complete: {texts[0]}",
            evidence=_some([_read(test), *texts[1:]]),
            remedy="run nccltool triage on the complete log to find the cause, then repeat the test",
        )


def _missing(test: Report) -> Iterator[Finding]:
    if test.missing:
        yield IMPORT_ROWS_MISSING.finding(
            subject=_file(test),
            message=f"missing from the output: {', '.join(test.missing)}",
            evidence=(_read(test),),
            remedy="import the output as the program wrote it: one file per process, or labeled lines",
        )


def _read(test: Report) -> str:
    return f"{counted(len(test.rows), 'row')} of {test.op} {'was' if len(test.rows) == 1 else 'were'} read"


def _wrong_data(test: Report) -> Iterator[Finding]:
    bad = [(row, half) for row in test.rows for half in row.halves if half.wrong and not half.repeats]
    evidence = [
        f"{_place(row, test)} {half.placement}: {counted(half.wrong or 0, 'wrong element')}" for row, half in bad
    ]
    if test.out_of_bounds:
        evidence.append(f"footer: {test.out_of_bounds} FAILED")
    if not evidence:
        return
    first = _place(bad[0][0], test) if bad else "place not reported"
    checks = counted(len(bad) or test.out_of_bounds or 0, "check")
    yield WRONG_DATA.finding(
        subject=_file(test),
        message=f"{test.op} delivered wrong data in {checks}, first: {first}",
        evidence=_some(evidence),
        remedy="do not train on these hosts: repeat with -c 20 on each half of them to find the one that "
        "corrupts data",
    )


def _world_of_one(test: Report, told: Told) -> Iterator[Finding]:
    if test.world_size != 1:
        return
    yield WORLD_OF_ONE.finding(
        severity="warning" if told.ranks == 1 else "error",
        subject=_file(test),
        message=f"{test.where}: the world has one rank, so no data crossed a link",
        evidence=("one rank is listed; bus bandwidth counts the bytes that cross links",),
        remedy="if this should be one job with several ranks, build nccl-tests with MPI=1; otherwise pass "
        "--ranks 1",
    )


def _inconsistent(test: Report) -> Iterator[Finding]:
    problems = [problem for row in test.rows for problem in _of_row(row, test)]
    problems += _of_average(test)
    if not problems:
        return
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    yield IMPORT_INCONSISTENT.finding(
        subject=_file(test),
        message=f"numbers contradict each other: {problems[0]}{more}",
        evidence=_some(problems),
        remedy="check --op and --ranks and that the file is complete; "
        "nccl-tests before 2.9 computed the bandwidth of all_gather and reduce_scatter differently",
    )


def _of_row(row: Row, test: Report) -> Iterator[str]:
    place = _place(row, test)
    elements = count(row, test.op, test.world_size)
    if row.count not in (None, elements):
        ranks = counted(test.world_size, "rank")
        yield f"{place}: {row.bytes} B are {counted(elements, 'element')} for {ranks}, not {row.count}"
    elif row.bytes % row.element_size:
        yield f"{place}: {row.bytes} B are not a whole number of {row.dtype} elements"
    for half in row.halves:
        if half.is_measured and row.bytes:
            yield from (f"{place} {half.placement}: {problem}" for problem in _of_half(half, row, test))


def _of_half(half: Half, row: Row, test: Report) -> Iterator[str]:
    by_time = _by_time(test, row, half)
    if by_time and not _meet(half.algbw, by_time):
        yield (
            f"algbw {half.algbw.value:g} GB/s, but {row.bytes} B in {half.time.value:g} us are "
            f"{by_time.value:.4g} GB/s"
        )
    factor = collectives.get(test.op).bus_factor(test.world_size)
    by_algbw = _by_algbw(test, half.algbw)
    if not _meet(half.busbw, by_algbw):
        yield (
            f"busbw {half.busbw.value:g} GB/s, but algbw {half.algbw.value:g} GB/s x {factor:.4g} "
            f"({counted(test.world_size, 'rank')}) is {by_algbw.value:.4g} GB/s"
        )


def _of_average(test: Report) -> list[str]:
    numbers = [half.busbw for row in test.rows for half in row.halves]
    if test.average is None or not numbers or any(math.isnan(one.value) for one in (test.average, *numbers)):
        return []
    mean, half = fmean(one.value for one in numbers), fmean(one.half for one in numbers)
    if _meet(test.average, Printed(mean, half)):
        return []
    return [
        f"the footer's mean is {test.average.value:g} GB/s, "
        f"but the rows' mean is {mean:.6g} GB/s: a row may be missing"
    ]


def _under_minimum(test: Report) -> Iterator[Finding]:
    if test.under_minimum and test.average is not None:
        yield IMPORT_UNDER_MINIMUM.finding(
            subject=_file(test),
            message=f"nccl-tests reports a mean of {test.average.value:g} GB/s, under 0.9 x NCCL_TESTS_MIN_BW",
            evidence=("a mean over sizes depends more on the sweep than on the fabric",),
            remedy="check the bus bandwidth of the largest size",
        )


def _errors(test: Report) -> Iterator[Finding]:
    if test.errors:
        yield IMPORT_NCCL_ERROR.finding(
            subject=_file(test),
            message=f"NCCL's last error was: {test.errors[-1]}",
            evidence=_some(list(test.errors[:-1])),
            remedy="check NCCL's log; if every row was measured, the error may be harmless",
        )


def _left_out(test: Report) -> Iterator[Finding]:
    empty = [_place(row, test) for row in test.rows if not row.bytes]
    halves = [
        (half, f"{_place(row, test)} {half.placement}") for row in test.rows if row.bytes for half in row.halves
    ]
    unmeasured = [place for half, place in halves if not half.is_measured and not half.repeats]
    timeless = [
        place
        for half, place in halves
        if half.is_measured and not (half.algbw if test.cpu_time else half.time).value
    ]
    for places, what, why in (
        (empty, "row", "0 bytes"),
        (unmeasured, "measurement", "nan or inf instead of a number"),
        (timeless, "measurement", "the time (with -C 1: the bandwidth) rounds to 0"),
    ):
        if places:
            yield LEFT_OUT.finding(
                subject=Subject(kind="operation", name=test.op),
                message=f"{counted(len(places), what)} left out: {why}",
                evidence=_some(places),
            )


def _place(row: Row, test: Report) -> str:
    return f"{row.where}, {test.op} at {format_bytes(row.bytes)}"


def _some(texts: list[str]) -> tuple[str, ...]:
    more = len(texts) - _SHOWN
    return (*texts[:_SHOWN], f"and {more} more") if more > 0 else tuple(texts)
