"""Bus bandwidth over size, a curve an operation, both axes logarithmic; as shapes that any format can draw."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nccltool.core.documents import RunInfo
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes
from nccltool.probe import headline
from nccltool.probe.result import Measurement

WIDTH, HEIGHT = 960, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 760, 50, 470
_COLORS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#7f7f7f",
    "#8c564b",
    "#17becf",
)
"""Okabe and Ito's, told apart also by people who see few colours, and a few more."""
_GRID = "#dddddd"
_SMALL, _LARGE = 12, 15
_MOST_SIZES = 10
"""Labels that fit under the axis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A straight line, one unit wide."""

    x1: float
    y1: float
    x2: float
    y2: float
    color: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """Points with lines between them."""

    points: tuple[tuple[float, float], ...]
    color: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    """A measurement."""

    x: float
    y: float
    color: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """Text that stands on y; upright text is turned about its middle."""

    x: float
    y: float
    text: str
    size: int = _SMALL
    anchor: Literal["left", "middle", "right"] = "middle"
    upright: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    color: str


Shape = Line | Curve | Dot | Box | Label


@dataclass(frozen=True, kw_only=True, slots=True)
class _Axis:
    """From the logarithm of a value to a place."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log(value) - math.log(self.low)) / ((math.log(self.high) - math.log(self.low)) or 1.0)
        return self.begin + share * (self.end - self.begin)


def shapes(info: RunInfo, measured: Sequence[Measurement]) -> tuple[Shape, ...]:
    """What to draw; empty where nothing was measured."""
    rows = [row for row in measured if row.busbw_bytes_per_s > 0 and row.bytes > 0]
    if not rows:
        return ()
    sizes = sorted({row.bytes for row in rows})
    rates = [row.busbw_bytes_per_s / 1e9 for row in rows]
    across = _Axis(low=sizes[0], high=sizes[-1], begin=_LEFT + 20, end=_RIGHT - 20)
    low, high = 10.0 ** math.floor(math.log10(min(rates))), 10.0 ** math.ceil(math.log10(max(rates)) + 1e-9)
    up = _Axis(low=low, high=high, begin=_BOTTOM, end=_TOP)
    return (*_frame(info), *_sizes(sizes, across), *_rates(up), *_curves(rows, across, up))


def _frame(info: RunInfo) -> Iterator[Shape]:
    emulated = " emulated" if info.emulated else ""
    where = (
        f"{counted(info.nodes or 0, 'node')}{emulated}, {counted(info.world_size or 0, 'rank')}, {info.backend}"
    )
    yield Label(x=_LEFT, y=30, text=escaped(f"Bus bandwidth: {where}"), size=_LARGE, anchor="left")
    yield Label(x=_RIGHT, y=30, text=escaped(f"run {info.id}"), anchor="right")
    yield Label(x=(_LEFT + _RIGHT) / 2, y=HEIGHT - 20, text="message size (as in nccl-tests)")
    yield Label(x=22, y=(_TOP + _BOTTOM) / 2, text="bus bandwidth (GB/s)", upright=True)


def _sizes(sizes: Sequence[int], across: _Axis) -> Iterator[Shape]:
    step = math.ceil(len(sizes) / _MOST_SIZES)
    for size in sizes[::step]:
        x = across.at(size)
        yield Line(x1=x, y1=_TOP, x2=x, y2=_BOTTOM, color=_GRID)
        yield Label(x=x, y=_BOTTOM + 18, text=format_bytes(size))


def _rates(up: _Axis) -> Iterator[Shape]:
    for decade in range(round(math.log10(up.low)), round(math.log10(up.high)) + 1):
        y = up.at(10.0**decade)
        yield Line(x1=_LEFT, y1=y, x2=_RIGHT, y2=y, color=_GRID)
        yield Label(x=_LEFT - 8, y=y + 4, text=f"{10.0**decade:g}", anchor="right")


def _curves(rows: Sequence[Measurement], across: _Axis, up: _Axis) -> Iterator[Shape]:
    for number, group in enumerate(headline.of_operations(rows)):
        color = _COLORS[number % len(_COLORS)]
        points = tuple((across.at(row.bytes), up.at(row.busbw_bytes_per_s / 1e9)) for row in group)
        yield Curve(points=points, color=color)
        yield from (Dot(x=x, y=y, color=color) for x, y in points)
        y = _TOP + 12 + 20 * number
        yield Curve(points=((_RIGHT + 15, y - 4), (_RIGHT + 40, y - 4)), color=color)
        yield Label(x=_RIGHT + 48, y=y, text=headline.name(group[0]), anchor="left")
