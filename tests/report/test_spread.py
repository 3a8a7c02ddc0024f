"""The iterations of an operation: their median, and how far they spread; what is not known is left out."""

from dataclasses import replace

from nccltool.report import series, spread
from nccltool.report.parts import TablePart
from tests import samples

_TABLE = TablePart(headers=(), rows=())


def test_a_point_for_each_size() -> None:
    times = replace(samples.stats(1e-3), median=0.8e-3, min=0.5e-3, max=2e-3, p90=None, p99=None)
    one = series.of([samples.measurement(bytes=2**20, time_s=times)])[0]
    made = spread.times(one, _TABLE, "all of it")
    assert (made.title, made.spark) == ("all of it", (1e-3,))
    (point,) = made.values
    assert {key: round(of, 3) if isinstance(of, float) else of for key, of in point.items()} == {
        "x": 2**20,
        "y": 800.0,
        "low": 500.0,
        "high": 2000.0,
        "p90": None,
        "p99": None,
        "about": "all_reduce 1 MiB: mean 1 ms, longest 2 ms",
    }
