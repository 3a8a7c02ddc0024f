"""Rows of two sides: which belong together, and by how much they changed."""

from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from tests.compare.samples import KEY, STEADY, compared, of, row, run, side


def test_a_change_is_of_bus_bandwidth() -> None:
    found = compared(of("a", *STEADY), of("b", *(2 * time for time in STEADY)))
    (only,) = found.rows
    assert only.effect.change == pytest.approx(-0.5)
    assert only.busbw_b_bytes_per_s / only.busbw_a_bytes_per_s == pytest.approx(0.5)
    assert only.effect.spread_is_measured
    assert found.overall is None


def test_rows_that_only_one_side_has_are_named() -> None:
    found = compared(side("a", run("a", [1.0, 2.0])), side("b", run("b", [1.0])))
    assert [key.bytes for key in found.only_a] == [2**21]
    assert found.only_b == ()


def test_rows_that_ignoring_makes_equal_are_refused() -> None:
    both = (row(1.0), row(1.0, key=replace(KEY, dtype="bfloat16")))
    with pytest.raises(BadInput, match="differ only in keys that --ignore names"):
        compared(side("a", run("a", [], rows=both)), of("b", 1.0), ignore=frozenset({"dtype"}))
