"""Runs with rows, and sides of a comparison, for tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nccltool.compare import judge
from nccltool.compare.effects import CompareSettings
from nccltool.compare.result import Circumstances, Comparison, RowKey, RowSample, RunSample, Side
from tests.samples import info

STEADY = (1.00, 1.001, 0.999, 1.002, 0.998)
KEY = RowKey(
    op="all_reduce", bytes=2**20, dtype="float32", reduce_op="sum", placement="in-place", cadence="stream"
)
HERE = Circumstances(transport="ib", nics="8 x 400 Gb/s InfiniBand", gpu="NVIDIA H200", nodes=2, ranks=16)


def row(time_s: float, **changes: Any) -> RowSample:
    plain = RowSample(
        key=KEY, median_s=time_s, mean_s=time_s, spread=0.01, iterations=100, busbw_bytes_per_s=1e6 / time_s
    )
    return replace(plain, **changes)


def run(name: str, times: Sequence[float], **changes: Any) -> RunSample:
    """A run with a row of 1 MiB, 2 MiB, ... for each time."""
    rows = [row(time, key=replace(KEY, bytes=2**20 << place)) for place, time in enumerate(times)]
    plain = RunSample(id=name, started="", hosts=("n1", "n2"), circumstances=HERE, rows=tuple(rows))
    return replace(plain, **changes)


def side(name: str, *runs: RunSample) -> Side:
    return Side(name=name, runs=runs)


def compared(a: Side, b: Side, **settings: Any) -> Comparison:
    return judge.compare(info(), a, b, CompareSettings(**settings))


def of(name: str, *times: float) -> Side:
    """Runs with one row."""
    return side(name, *(run(f"{name}{place}", [time]) for place, time in enumerate(times)))
