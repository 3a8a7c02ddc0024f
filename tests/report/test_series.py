"""Rows become curves: what differs within an operation is in the name."""

from nccltool.report import series
from tests.samples import measurement


def test_rows_of_an_operation_are_sorted_and_named_by_what_differs() -> None:
    rows = (
        measurement(bytes=2**20),
        measurement(bytes=2**10),
        measurement(bytes=2**10, dtype="float16"),
        measurement(bytes=2**10, op="all_gather", placement="out-of-place", reduce_op=None),
    )
    assert [(one.name, [row.bytes for row in one.rows]) for one in series.of(rows)] == [
        ("all_reduce float32", [2**10, 2**20]),
        ("all_reduce float16", [2**10]),
        ("all_gather", [2**10]),
    ]


def test_what_cannot_be_drawn_on_a_logarithmic_axis_is_left_out() -> None:
    assert series.of((measurement(bytes=0), measurement(busbw_bytes_per_s=0.0))) == ()
