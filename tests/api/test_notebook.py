"""The notebook of the docs, its cells played one after the other as a kernel does."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs/examples/measure.ipynb"


@pytest.mark.torch
def test_every_cell_of_the_notebook_is_right() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {}
    values: list[object] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        *lines, last = ast.parse("".join(cell["source"])).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        values.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    status, rows, is_same = values
    assert (status, is_same) == ("pass", True)
    assert isinstance(rows, list)
    assert [row[:2] for row in rows] == [("all_reduce", 65536)]
