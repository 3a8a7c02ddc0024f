"""The CSV is what a reader of CSV expects."""

import csv
import io

from nccltool.probe import views
from nccltool.probe.result import Run
from tests.samples import empty_run, good_run


def rows(run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(views.renderer("csv")(run)), strict=True))


def test_a_row_a_measurement() -> None:
    shown = rows(good_run())
    assert [row["op"] for row in shown] == ["all_reduce", "all_gather", "all_gather", "ping_pong"]
    assert {row["run"] for row in shown} == {"20250102T030405Z-beef"}
    assert {row["emulated"] for row in shown} == {"true"}
    for row, measured in zip(shown, good_run().measurements, strict=True):
        assert float(row["time_mean_s"]) == measured.time_s.mean
        assert float(row["busbw_bytes_per_s"]) == measured.busbw_bytes_per_s
        assert int(row["bytes"]) == measured.bytes


def test_an_empty_field_is_not_known() -> None:
    shown = rows(good_run())
    assert [row["wrong"] for row in shown] == ["0", "0", "0", ""]
    assert [row["reduce_op"] for row in shown] == ["sum", "", "", ""]


def test_no_rows_are_only_the_heading() -> None:
    assert rows(empty_run()) == []
    assert views.renderer("csv")(empty_run()).count("\n") == 1
