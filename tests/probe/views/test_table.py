"""The result for people: what has a column, what is marked, what is said once, and what a small screen shows."""

import csv
import io
import itertools
import json
import re
from dataclasses import replace

import pytest

from nccltool.core.look import Look
from nccltool.probe import collectives, views
from nccltool.probe.result import Measurement, Run
from tests.samples import failing_run, good_run, measurement, stats

SOURCE = "network: 3.12 GB/s per host each way, eth0 25 Gb/s Ethernet (/sys/class/net/eth0/speed)"


def run(*rows: Measurement, source: str | None = None, reason: str | None = None) -> Run:
    """Of two hosts."""
    plain = failing_run()
    info = replace(plain.info, limit_source=source, limit_unknown_reason=reason)
    return replace(plain, info=info, measurements=rows, findings=())


def row(limit: float | None, busbw: float = 2e9, op: str = "all_gather", may_exceed: bool = False) -> Measurement:
    return measurement(
        op=op, busbw_bytes_per_s=busbw, limit_busbw_bytes_per_s=limit, limit_may_be_exceeded=may_exceed
    )


def shown(run: Run) -> str:
    return views.renderer("table")(run)


def table_of(text: str) -> list[str]:
    """Its lines, from the headings to its end."""
    lines = text.splitlines()
    rule = next(number for number, line in enumerate(lines) if line.startswith("---"))
    return lines[rule - 2 :]


def column(text: str, *heading: str) -> list[str]:
    """The cells under a heading of two lines; the table is followed by a line without a size, or nothing."""
    lines = table_of(text)
    spans = [match.span() for match in re.finditer("-+", lines[2])]
    for start, end in spans:
        if [line[start:end].strip() for line in lines[:2]] == [*heading]:
            rows = itertools.takewhile(lambda line: re.match(r"\w+ +[\d.]+ ([KMG]i)?B ", line), lines[3:])
            return [line[start:end].strip() for line in rows]
    return []


def limits(text: str) -> list[str]:
    return column(text, "% of", "limit")


def verbose(run: Run) -> str:
    return views.renderer("table", Look(verbose=True))(run)


@pytest.mark.parametrize(
    ("busbw", "cell"),
    [(2.5e9, "100"), (2.4875e9, "100"), (1.24e9, "50"), (3e9, "120"), (0.11e9, "4.4"), (1e5, "0.004"), (0.0, "0")],
)
def test_the_share_of_a_row(busbw: float, cell: str) -> None:
    assert limits(shown(run(row(2.5e9, busbw), source=SOURCE))) == [cell]


def test_a_row_without_a_limit_is_blank() -> None:
    text = verbose(
        run(row(2.5e9), row(None, op="ping_pong"), source=SOURCE, reason="nothing of ping_pong crosses")
    )
    assert limits(text) == ["80", ""]
    assert f"\n% of limit: share of what the links allow. {SOURCE}\n" in text
    assert "\n% of limit is unknown: nothing of ping_pong crosses\n" in text


def test_where_no_limit_is_known_v_says_why() -> None:
    text = verbose(run(row(None), row(None), reason="the network of beta: eth0: virtual"))
    assert limits(text) == []
    assert "\n% of limit is unknown: the network of beta: eth0: virtual\n" in text


def test_what_switches_reduce_can_be_above() -> None:
    text = verbose(run(row(2.5e9, 3e9, "all_reduce", may_exceed=True), row(2.5e9), source=SOURCE))
    assert limits(text) == ["120", "80"]
    assert text.count("\nall_reduce can be above 100 % where switches reduce (NVLS, SHARP)\n") == 1


@pytest.mark.parametrize("plain", [good_run(), failing_run()])
def test_where_nothing_limits_there_is_no_column(plain: Run) -> None:
    assert limits(verbose(plain)) == []


def test_programs_get_the_limit_itself() -> None:
    measured = run(row(2.5e9, may_exceed=True), row(None), source=SOURCE, reason="why")
    (first, second) = csv.DictReader(io.StringIO(views.renderer("csv")(measured)), strict=True)
    assert (first["limit_busbw_bytes_per_s"], second["limit_busbw_bytes_per_s"]) == ("2500000000.0", "")
    document = json.loads(views.renderer("json")(measured))
    assert [row["limit_busbw_bytes_per_s"] for row in document["measurements"]] == [2.5e9, None]
    assert [row["limit_may_be_exceeded"] for row in document["measurements"]] == [True, False]
    assert (document["run"]["limit_source"], document["run"]["limit_unknown_reason"]) == (SOURCE, "why")


def test_rows_that_python_limited_are_marked_and_it_is_said_once() -> None:
    measured = run(measurement(launched="queued", launch_limited=True), measurement(launched="queued"))
    text = shown(measured)
    assert column(text, "note", "") == ["launch", ""]
    assert "\n1 of 2 rows (launch) show the launch time in Python, not the time on the fabric\n" in text
    assert verbose(measured).count("limited by launch overhead") == 1


def uncertain(share: float | None) -> Measurement:
    """A row whose time could be that far off."""
    ci95 = None if share is None else (0.002 * (1 - share), 0.002)
    return measurement(time_s=stats(ci95=ci95))


@pytest.mark.parametrize(
    ("shares", "cells", "said"),
    [
        ((0.02, 0.004), ["2.0", "0.4"], None),
        ((0.5, 0.02, None), ["50!", "2.0", "?!"], "2 of 3 rows, marked !, could be off by more than \u00b110%"),
        ((0.5, 0.2), ["50", "20"], "every row could be off by more than \u00b110%"),
    ],
)
def test_only_rows_beyond_the_limit_are_marked(
    shares: tuple[float | None, ...], cells: list[str], said: str | None
) -> None:
    text = shown(run(*map(uncertain, shares)))
    assert column(text, "\u00b1%", "") == cells
    assert ("could be off" in text) is (said is not None)
    assert said is None or f"\n{said}\n" in text


def test_ascii_where_the_locale_has_no_more() -> None:
    swept = sweep(3)
    for look in (Look(unicode=False), Look(width=80, height=8, unicode=False), Look(unicode=False, verbose=True)):
        assert views.renderer("table", look)(swept).isascii()


def sweep(operations: int) -> Run:
    """Eight sizes of each, with a bandwidth that grows, and two that fall at the end."""
    ops = collectives.NAMES[:operations]
    rows = [
        measurement(op=op, bytes=2**size, busbw_bytes_per_s=1e7 * 3 ** (size - 10), time_s=stats(1e-5 * size))
        for op in ops
        for size in range(10, 18)
    ]
    return replace(good_run(), measurements=tuple(rows), findings=(), models=())


SMALL = Look(width=80, height=24)


def test_a_line_an_operation_where_not_all_rows_fit() -> None:
    text = views.renderer("table", SMALL)(sweep(10))
    lines = text.splitlines()
    assert len(lines) <= 24 - 2
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("PASS 10 operations, 1 KiB to 128 KiB; peak busbw ")
    assert column(text, "busbw", "GB/s") == []  # no sizes, so these are no rows
    (first,) = [line for line in lines if line.startswith("all_gather ")]
    bars = "\u2581" * 6 + "\u2583\u2588"
    assert first.split() == ["all_gather", "in-place", "100", "21.87", "128", "KiB", "10", bars]
    assert "all 80 rows: nccltool runs 20250102T030405Z-beef -v" in lines


def test_where_rows_fit_they_are_shown() -> None:
    assert len(column(views.renderer("table", SMALL)(sweep(1)), "busbw", "GB/s")) == 8
    assert len(column(views.renderer("table", Look(width=80, height=200))(sweep(10)), "busbw", "GB/s")) == 80
    assert len(column(views.renderer("table", Look())(sweep(10)), "busbw", "GB/s")) == 80
    assert len(column(views.renderer("table", replace(SMALL, verbose=True))(sweep(10)), "busbw", "GB/s")) == 80


def test_the_folder_of_runs_is_named_where_it_was() -> None:
    swept = sweep(10)
    elsewhere = replace(swept, info=replace(swept.info, command=("nccltool", "probe", "--run-dir", "a\x1b[2Jb")))
    assert "beef -v --run-dir a\\x1b[2Jb" in views.renderer("table", SMALL)(elsewhere)
    imported = replace(swept, info=replace(swept.info, tool="nccl-tests"))
    assert "\n-v shows all 80 rows\n" in views.renderer("table", SMALL)(imported)


def test_wrong_data_is_seen_in_both() -> None:
    swept = sweep(10)
    wrong = replace(swept, measurements=(replace(swept.measurements[0], wrong=7), *swept.measurements[1:]))
    assert column(shown(wrong), "wrong", "")[:2] == ["7", "0"]
    (first,) = [
        line for line in views.renderer("table", SMALL)(wrong).splitlines() if line.startswith("all_reduce")
    ]
    assert " 7 " in first
    assert "no wrong element" not in views.renderer("table", SMALL)(wrong)


def test_verdict_and_marks_are_painted() -> None:
    text = views.renderer("table", Look(colors=True))(replace(sweep(1), measurements=(measurement(wrong=3),)))
    assert text.startswith("\x1b[32mPASS\x1b[0m ")
    assert "\x1b[1;31m3\x1b[0m" in text
