"""A heat map as SVG: a path for each shade, so that a million cells stay small; the hover data beside it."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from nccltool.core.text import escaped, shortened
from nccltool.localize import heat_map
from nccltool.report.parts import MatrixPart

_LEFT, _WIDTH = 110.0, 330.0
_NAMES = 28
_LETTERS = 16
SHADES = (
    *(f"under {100 * step:.0f} %" for step in heat_map.STEPS),
    f"{100 * heat_map.STEPS[-1]:.0f} % and more",
    "not measured",
)
"""What the shades mean, the slowest first."""


def svg(part: MatrixPart) -> str:
    """Rows from above, columns from the left."""
    height = _WIDTH * len(part.rows) / max(len(part.columns), 1)
    size = f"{_WIDTH / len(part.columns):.6g} {height / len(part.rows):.6g}"
    cells = "".join(f'<path class="shade-{shade}" d="{path}"/>' for shade, path in _paths(part.cells) if path)
    box = f"0 0 {_LEFT + _WIDTH:g} {height + 2:.6g}"
    names = _names(part.rows, height)
    return (
        f'<svg aria-hidden="true" focusable="false" class="matrix" viewBox="{box}">'
        f'<rect class="shade-5" x="{_LEFT:g}" y="1" width="{_WIDTH:g}" height="{height:.6g}"/>'
        f'<g class="cells" transform="translate({_LEFT:g} 1) scale({size})">{cells}</g>{names}</svg>'
    )


def data(part: MatrixPart) -> dict[str, Any]:
    """What hovering tells: names, and for each row its columns with their shares in percent."""
    cells = [
        [
            number
            for column, share in enumerate(row)
            if share is not None
            for number in (column, round(100 * share))
        ]
        for row in part.cells
    ]
    return {"rows": part.rows, "columns": part.columns, "cells": cells}


def as_json(value: object) -> str:
    """JSON that ends no element of HTML and has no character that acts."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _paths(cells: Sequence[Sequence[float | None]]) -> Iterator[tuple[int, str]]:
    """Cells of one shade beside each other are one rectangle."""
    found: list[list[str]] = [[] for _ in range(len(heat_map.STEPS) + 1)]
    for row, shares in enumerate(cells):
        at = 0
        for shade, group in groupby(shares, lambda share: None if share is None else heat_map.shade(share)):
            width = len(list(group))
            if shade is not None:
                found[shade].append(f"M{at} {row}h{width}v1h-{width}z")
            at += width
    return enumerate("".join(path) for path in found)


def _names(rows: Sequence[str], height: float) -> str:
    step = -(-len(rows) // _NAMES)
    each = height / len(rows)
    size = min(each * step * 0.8, 11.0)
    return "".join(
        f'<text text-anchor="end" x="{_LEFT - 5:g}" y="{(at + 0.5) * each + size / 3:.5g}" font-size="{size:.3g}">'
        f"{escape(_short(rows[at]))}</text>"
        for at in range(0, len(rows), step)
    )


def _short(name: str) -> str:
    text = escaped(shortened(name, 200))
    return text if len(text) <= _LETTERS else f"..{text[2 - _LETTERS :]}"
