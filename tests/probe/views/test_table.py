"""The column "% of limit": where a wire limits, and nowhere else."""

import csv
import io
import json
from dataclasses import replace

import pytest

from nccltool.probe import views
from nccltool.probe.result import Measurement, Run
from tests.samples import failing_run, good_run, measurement

SOURCE = "network: 3.12 GB/s a host each way, eth0 25 Gb/s Ethernet (/sys/class/net/eth0/speed)"


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


def column(text: str) -> list[str]:
    """The cells under the heading, which is as wide as the widest of them."""
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("op "))
    start = lines[head].index("% of limit")
    cells = [line[start : start + len("% of limit")].strip() for line in lines[head + 2 :]]
    return cells[: next(i for i, line in enumerate(lines[head + 2 :]) if line.startswith("size: "))]


@pytest.mark.parametrize(
    ("busbw", "cell"),
    [(2.5e9, "100"), (2.4875e9, "100"), (1.24e9, "50"), (3e9, "120"), (0.11e9, "4.4"), (1e5, "0.004"), (0.0, "0")],
)
def test_the_share_of_a_row(busbw: float, cell: str) -> None:
    assert column(shown(run(row(2.5e9, busbw), source=SOURCE))) == [cell]


def test_a_row_without_a_limit_is_blank() -> None:
    text = shown(run(row(2.5e9), row(None, op="ping_pong"), source=SOURCE, reason="nothing of ping_pong crosses"))
    assert column(text) == ["80", ""]
    assert f"\n% of limit: of what the wires allow. {SOURCE}\n" in text
    assert "\n% of limit is not known: nothing of ping_pong crosses\n" in text


def test_the_reason_stands_under_blank_cells() -> None:
    text = shown(run(row(None), row(None), reason="the network of beta: eth0: it is virtual"))
    assert column(text) == ["", ""]
    assert text.count("% of limit") == 2
    assert "\n% of limit is not known: the network of beta: eth0: it is virtual\n" in text


def test_what_switches_reduce_can_be_above() -> None:
    text = shown(run(row(2.5e9, 3e9, "all_reduce", may_exceed=True), row(2.5e9), source=SOURCE))
    assert column(text) == ["120", "80"]
    assert text.count("\nall_reduce can be above 100 % where switches reduce (NVLS, SHARP)\n") == 1


@pytest.mark.parametrize("plain", [good_run(), failing_run()])
def test_where_nothing_limits_there_is_no_column(plain: Run) -> None:
    assert "% of limit" not in shown(plain)


def test_programs_get_the_limit_itself() -> None:
    measured = run(row(2.5e9, may_exceed=True), row(None), source=SOURCE, reason="why")
    (first, second) = csv.DictReader(io.StringIO(views.renderer("csv")(measured)), strict=True)
    assert (first["limit_busbw_bytes_per_s"], second["limit_busbw_bytes_per_s"]) == ("2500000000.0", "")
    document = json.loads(views.renderer("json")(measured))
    assert [row["limit_busbw_bytes_per_s"] for row in document["measurements"]] == [2.5e9, None]
    assert [row["limit_may_be_exceeded"] for row in document["measurements"]] == [True, False]
    assert (document["run"]["limit_source"], document["run"]["limit_unknown_reason"]) == (SOURCE, "why")


def test_a_row_that_python_limited_says_so() -> None:
    text = shown(run(measurement(launched="queued", launch_limited=True), measurement(launched="queued")))
    assert text.count("limited by launches") == 1
