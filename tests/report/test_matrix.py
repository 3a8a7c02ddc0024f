"""The heat map: a path for each shade, names that fit, and the data of hovering."""

import json
import re

from nccltool.report import matrix
from nccltool.report.parts import MatrixPart, TablePart

TABLE = TablePart(headers=("a",), rows=())


def part(rows: tuple[str, ...], cells: tuple[tuple[float | None, ...], ...]) -> MatrixPart:
    return MatrixPart(title="t", about="a", rows=rows, columns=rows, cells=cells, table=TABLE)


def test_cells_of_a_shade_are_one_path_and_those_beside_each_other_one_rectangle() -> None:
    drawn = matrix.svg(part(("a", "b"), ((None, 0.4), (0.99, 0.97))))
    assert re.findall(r'<path class="shade-(\d)" d="([^"]*)"/>', drawn) == [
        ("0", "M1 0h1v1h-1z"),
        ("4", "M0 1h2v1h-2z"),
    ]


def test_a_name_is_text() -> None:
    drawn = matrix.svg(part(("<script>", "\x1b[31m" + "n" * 10_000), ((1.0, 1.0), (1.0, 1.0))))
    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn
    assert "\x1b" not in drawn
    assert len(drawn) < 1000


def test_a_thousand_nodes_are_small() -> None:
    names = tuple(f"n{number}" for number in range(1024))
    cells = tuple(tuple(0.99 if (row + column) % 100 else 0.5 for column in range(1024)) for row in range(1024))
    drawn = matrix.svg(part(names, cells))
    assert len(drawn) < 1_000_000
    assert drawn.count("<text") <= 28


def test_hovering_knows_each_cell() -> None:
    assert matrix.data(part(("a", "b"), ((None, 0.404), (0.99, None)))) == {
        "rows": ("a", "b"),
        "columns": ("a", "b"),
        "cells": [[1, 40], [0, 99]],
    }


def test_data_ends_no_element() -> None:
    value = {"name": "</script><!-- &\u2028\x1b"}
    text = matrix.as_json(value)
    assert not set(text) & set("<>&\u2028\x1b")
    assert json.loads(text) == value
