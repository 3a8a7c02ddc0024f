"""Halves made of a time or of a rate."""

import math

import pytest

from nccltool.interop.importers import rates
from nccltool.interop.importers.base import UNMEASURED, Printed


def test_a_time_and_the_rate_of_it_are_one_number() -> None:
    by_time = rates.of_time("all_reduce", 4, 10**6, Printed(100.0, 0.5))
    assert (by_time.algbw.value, by_time.busbw.value) == pytest.approx((10.0, 15.0))
    assert by_time.algbw.range == pytest.approx((10 - 0.05025, 10 + 0.05025), rel=1e-4)
    by_rate = rates.of_rate("send_recv", 2, 10**6, Printed(10.0, 0.05))
    assert (by_rate.time.value, by_rate.busbw.value) == pytest.approx((100.0, 10.0))


@pytest.mark.parametrize("time", [UNMEASURED, Printed(0.0, 0.005)])
def test_no_time_is_no_rate(time: Printed) -> None:
    half = rates.of_time("all_reduce", 4, 8, time)
    assert math.isnan(half.algbw.value) or half.algbw.value == 0
    assert not half.is_measured or not half.time.value  # both are left out


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("0", 0), ("-1", None), ("1.5", None), ("", None), ("9" * 19, None), ("٣", None)]
)
def test_sizes(text: str, size: int | None) -> None:
    assert rates.whole_bytes(text) == size


@pytest.mark.parametrize(
    ("content", "count", "cut"), [("a\nb\n", 2, None), ("a\r\nb", 1, 2), ("a\n  ", 1, None), ("", 0, None)]
)
def test_a_line_without_an_end_is_cut(content: str, count: int, cut: int | None) -> None:
    found = rates.lines(content)
    assert (len(found.whole), found.cut) == (count, cut)
