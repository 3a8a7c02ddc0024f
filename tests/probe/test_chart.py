"""Where the points of the curves are."""

import pytest

from nccltool.probe import chart
from nccltool.probe.chart import Curve, Dot, Label
from tests.samples import good_run, measurement


def test_both_axes_are_logarithmic() -> None:
    """A straight line where bandwidth grows with size; the higher the faster."""
    rows = [measurement(bytes=2**size, busbw_bytes_per_s=2.0**size) for size in (10, 12, 14)]
    dots = [shape for shape in chart.shapes(good_run().info, rows) if isinstance(shape, Dot)]
    (x1, x2, x3), (y1, y2, y3) = [dot.x for dot in dots], [dot.y for dot in dots]
    assert x2 - x1 == pytest.approx(x3 - x2)
    assert y2 - y1 == pytest.approx(y3 - y2)
    assert y1 > y2 > y3


def test_everything_is_inside_of_the_picture() -> None:
    rows = [measurement(op=op, bytes=8 * 4**n) for op in ("all_reduce", "reduce") for n in range(15)]
    for shape in chart.shapes(good_run().info, rows):
        points = shape.points if isinstance(shape, Curve) else ()
        assert all(0 <= x <= chart.WIDTH and 0 <= y <= chart.HEIGHT for x, y in points)
    labels = [shape.text for shape in chart.shapes(good_run().info, rows) if isinstance(shape, Label)]
    assert len([text for text in labels if text.endswith("B")]) <= 10


def test_rows_without_bandwidth_have_no_place() -> None:
    assert chart.shapes(good_run().info, [measurement(busbw_bytes_per_s=0.0)]) == ()
