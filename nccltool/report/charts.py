"""Specifications of Vega-Lite, without their data: each function describes one kind of chart.

Fields of the data: `x`, `y`; `low` and `high` of an interval; `series`; `about`, the sentence of a mark. Texts of
a run come in the data only, so that none is ever read as an expression.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from nccltool.report import colors

Spec = dict[str, Any]
WIDTH, HEIGHT = 440, 230
"""Small enough to be read on a phone, where it shrinks to 330."""
DATA = "values"
"""The name of the data."""
_NUMBERS = ".4~r"
_AXIS = 56
"""Room for the numbers and the title below bars."""
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_SIZES = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' :"
    " datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' :"
    " datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)


_IS_TEN = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-9"
_TIMES = (
    f"!({_IS_TEN}) ? '' :"
    " datum.value >= 1e6 ? datum.value / 1e6 + ' s' :"
    " datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'"
)
"""Powers of ten of microseconds."""
_OF_TENS = {"condition": {"test": _IS_TEN, "value": 1}, "value": 0}
"""Lines at powers of ten alone: a logarithmic axis has nine to a decade."""


@cache
def curves(unit: str, has_limit: bool, has_earlier: bool) -> Spec:
    """A value over the size with its interval, the limit, and the same of an earlier run."""
    scale: Spec = {"zero": True, "nice": True}
    x = _encoding("x", "message size", {"type": "log", "base": 2, "nice": False}, labelExpr=_SIZES, tickCount=6)
    y = _encoding("y", unit, scale, tickCount=5, format=_NUMBERS)
    layers: list[Spec] = [
        _layer({"type": "area", "opacity": 0.2, "color": _of(colors.SERIES[0])}, x, _low(y), y2={"field": "high"})
    ]
    if has_limit:
        mark = {"type": "line", "strokeDash": [6, 4], "stroke": _of(colors.LIMIT), "strokeWidth": 1.5}
        layers.append(_layer(mark, x, _renamed(y, "limit")))
    if has_earlier:
        mark = {"type": "line", "strokeDash": [2, 3], "stroke": _of(colors.SERIES[1]), "strokeWidth": 2}
        layers.append(_layer(mark, x, _renamed(y, "earlier")))
    layers.append(_layer({"type": "line", "stroke": _of(colors.SERIES[0]), "strokeWidth": 2}, x, y))
    layers.append(_marks({"type": "point", "filled": True, "size": 46, "color": _of(colors.SERIES[0])}, x, y))
    return _chart(layers)


@cache
def worlds(unit: str) -> Spec:
    """A value over the number of ranks with its interval."""
    x = _encoding("x", "ranks", {"type": "log", "base": 2, "nice": False}, tickCount=6, format="d")
    y = _encoding("y", unit, {"zero": True, "nice": True}, tickCount=5, format=_NUMBERS)
    line = {"type": "line", "stroke": _of(colors.SERIES[0]), "strokeWidth": 2}
    return _chart(
        [
            _layer(
                {"type": "area", "opacity": 0.2, "color": _of(colors.SERIES[0])}, x, _low(y), y2={"field": "high"}
            ),
            _layer(line, x, y),
            _marks({"type": "point", "filled": True, "size": 46, "color": _of(colors.SERIES[0])}, x, y),
        ]
    )


@cache
def spans(unit: str) -> Spec:
    """For each size, from the shortest to the longest iteration, with its median, 90th and 99th percentile."""
    x = _encoding("x", "message size", {"type": "log", "base": 2, "nice": False}, labelExpr=_SIZES, tickCount=6)
    y = _encoding("y", unit, {"type": "log"}, tickCount=5, labelExpr=_TIMES, gridOpacity=_OF_TENS, ticks=False)
    thin = {"type": "rule", "stroke": _of(colors.QUIET), "strokeWidth": 1}
    thick = {"type": "rule", "stroke": _of(colors.SERIES[0]), "strokeWidth": 5, "opacity": 0.45}
    return _chart(
        [
            _layer(thin, x, _low(y), y2={"field": "high"}),
            _layer(thick, x, y, y2={"field": "p90"}),
            _layer(
                {"type": "tick", "color": _of(colors.SERIES[1]), "thickness": 2, "width": 9},
                x,
                _renamed(y, "p99"),
            ),
            _marks({"type": "point", "filled": True, "size": 46, "color": _of(colors.SERIES[0])}, x, y),
        ]
    )


@cache
def bars(unit: str, count: int) -> Spec:
    """A bar for each name, in the order of the data; colored by `tone`."""
    mark = {"type": "bar", "height": {"band": 0.7}, "cornerRadiusEnd": 2}
    color = {"field": "tone", "type": "nominal", "scale": None}
    layer = {
        "mark": mark,
        "encoding": {
            "y": _names(),
            "x": _encoding("x", unit, {"zero": True}, tickCount=5, format=_NUMBERS),
            "color": color,
            **_about(),
        },
    }
    return _chart([layer], height=_height(count))


@cache
def steps(unit: str, names: tuple[str, ...], log: bool = False) -> Spec:
    """Lines over the steps of a training, one of each series; names are those of this program."""
    x = _encoding("x", "step", {"nice": False, "zero": False}, tickMinStep=1, format="d", tickCount=6)
    y = _encoding(
        "y", unit, {"type": "log"} if log else {"zero": False, "nice": True}, tickCount=5, format=_NUMBERS
    )
    series = _series(names)
    dashes: Spec = {"field": "series", "type": "nominal", "legend": None}
    dashes |= {"scale": {"domain": list(names), "range": [[1, 0], [6, 5]]}}
    line = {"type": "line", "strokeWidth": 2}
    dot = {"type": "point", "filled": True, "size": 30}
    return _chart(
        [
            {"mark": line, "encoding": {"x": x, "y": y, "color": series, "strokeDash": dashes}},
            {"mark": dot, "encoding": {"x": x, "y": y, "color": series, **_about()}},
        ]
    )


@cache
def times(unit: str, series: int) -> Spec:
    """Lines over the runs, by when they started; `series` is a number from 0 on. A line where one is `changed`."""
    x = _encoding("x", "UTC", {"type": "utc"}, kind="temporal", tickCount=5)
    y = _encoding("y", unit, {"zero": True, "nice": True}, tickCount=5, format=_NUMBERS)
    color = {
        "field": "series",
        "type": "ordinal",
        "legend": None,
        "scale": {
            "domain": list(range(series)),
            "range": [_of(colors.SERIES[number % len(colors.SERIES)]) for number in range(series)],
        },
    }
    return _chart(
        [
            {
                "mark": {"type": "rule", "stroke": _of(colors.WARN), "strokeDash": [5, 4], "strokeWidth": 2},
                "transform": [{"filter": "datum.changed"}],
                "encoding": {"x": x},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.35, "aria": False},
                "encoding": {"x": x, "y": _low(y), "y2": {"field": "high"}, "color": color},
            },
            {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": color}},
            {
                "mark": {"type": "point", "filled": True, "size": 46},
                "encoding": {"x": x, "y": y, "color": color, **_about()},
            },
        ]
    )


@cache
def changes(count: int) -> Spec:
    """A change with its interval for each name, beside a line at zero."""
    x = _encoding("x", "change of bus bandwidth (%)", {"nice": True}, tickCount=6, format="+.4~r")
    color = {"field": "tone", "type": "nominal", "scale": None}
    return _chart(
        [
            {"mark": {"type": "rule", "stroke": _of(colors.QUIET)}, "encoding": {"x": {"datum": 0}}},
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"y": _names(), "x": _renamed(x, "low"), "x2": {"field": "high"}, "color": color},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": {"y": _names(), "x": x, "color": color, **_about()},
            },
        ],
        height=_height(count),
    )


@cache
def stretches(unit: str, count: int) -> Spec:
    """From when to when, for each name; colored by `tone`."""
    layer = {
        "mark": {"type": "bar", "height": {"band": 0.75}},
        "encoding": {
            "y": _names(),
            "x": _encoding("low", unit, {"zero": False, "nice": False}, tickCount=6, format=_NUMBERS),
            "x2": {"field": "high"},
            "color": {"field": "tone", "type": "nominal", "scale": None},
            **_about(),
        },
    }
    return _chart([layer], height=_height(count))


@cache
def passes(unit: str, count: int) -> Spec:
    """Numbered boxes on the row of each name, `low` to `high`; what is between them up to `whole` is idle."""
    x = _encoding("low", unit, {"zero": True, "nice": False}, tickCount=6, format=_NUMBERS)
    color = {"field": "tone", "type": "nominal", "scale": None}
    band = {"type": "bar", "height": {"band": 0.8}, "aria": False, "color": _of(colors.IDLE)}
    box = {"type": "bar", "height": {"band": 0.8}, "strokeWidth": 0.5}
    border = {"condition": {"test": "datum.label", "value": _of(colors.CARD)}, "value": None}
    word = {"type": "text", "fontSize": 9.5, "aria": False, "color": _of(colors.CARD)}
    return _chart(
        [
            {
                "mark": band,
                "transform": [{"filter": "datum.first"}],
                "encoding": {"y": _names(), "x": _renamed(x, "zero"), "x2": {"field": "whole"}},
            },
            {
                "mark": box,
                "encoding": {
                    "y": _names(),
                    "x": x,
                    "x2": {"field": "high"},
                    "color": color,
                    "stroke": border,
                    **_about(),
                },
            },
            {
                "mark": word,
                "transform": [{"filter": "datum.label"}],
                "encoding": {
                    "y": _names(),
                    "x": _renamed(x, "middle"),
                    "text": {"field": "label", "type": "nominal"},
                },
            },
        ],
        height=_height(count),
    )


def _height(count: int) -> int:
    return min(24 * count, 860) + _AXIS


def _chart(layers: Sequence[Spec], height: int = HEIGHT) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": None,
        "data": {"name": DATA, "values": []},
        "layer": list(layers),
        "config": _CONFIG,
    }


_CONFIG: Mapping[str, Any] = {
    "font": _FONT,
    "padding": {"left": 14, "right": 8, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": {
        "labelColor": colors.variable(colors.QUIET),
        "titleColor": colors.variable(colors.QUIET),
        "domainColor": colors.variable(colors.GRID),
        "tickColor": colors.variable(colors.GRID),
        "gridColor": colors.variable(colors.GRID),
        "labelFontSize": 11.5,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
        "labelOverlap": True,
        "labelSeparation": 6,
    },
    "axisX": {"grid": False},
    # above the axis: beside it, long numbers would run into it
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleBaseline": "bottom", "titleX": -40, "titleY": -9},
}


def _of(name: str) -> str:
    return colors.variable(name)


def _encoding(field: str, title: str, scale: Spec, kind: str = "quantitative", **axis: Any) -> Spec:
    return {"field": field, "type": kind, "scale": scale, "axis": {"title": title or None, **axis}}


def _names() -> Spec:
    return {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "ticks": False, "domain": False},
    }


def _series(names: tuple[str, ...]) -> Spec:
    shades = [_of(colors.SERIES[number % len(colors.SERIES)]) for number in range(len(names))]
    return {
        "field": "series",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": list(names), "range": shades},
    }


def _about() -> Spec:
    return {"description": {"field": "about", "type": "nominal"}}


def _renamed(encoding: Spec, field: str) -> Spec:
    return {**encoding, "field": field}


def _low(encoding: Spec) -> Spec:
    return _renamed(encoding, "low")


def _layer(mark: Spec, x: Spec, y: Spec, **more: Any) -> Spec:
    return {"mark": {**mark, "aria": False}, "encoding": {"x": x, "y": y, **more}}


def _marks(mark: Spec, x: Spec, y: Spec) -> Spec:
    return {"mark": mark, "encoding": {"x": x, "y": y, **_about()}}
