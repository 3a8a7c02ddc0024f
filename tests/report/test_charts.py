"""Specifications: of the program alone, with their data apart."""

import json

import pytest

from nccltool.report import charts, drawing

SPECS = {
    "curves": charts.curves("GB/s", True, True),
    "spans": charts.spans("us"),
    "bars": charts.bars("%", 3),
    "steps": charts.steps("loss", ("loss", "reference")),
    "times": charts.times("GB/s", 2),
    "changes": charts.changes(4),
    "passes": charts.passes("ms", 2),
    "stretches": charts.stretches("ms", 2),
}


@pytest.mark.parametrize("name", SPECS)
def test_each_is_json_without_data_and_without_an_address(name: str) -> None:
    spec = SPECS[name]
    assert spec["data"] == {"name": charts.DATA, "values": []}
    text = json.dumps({key: value for key, value in spec.items() if key != "$schema"})
    assert "http" not in text
    assert "url" not in text


@pytest.mark.parametrize("name", SPECS)
def test_each_can_be_drawn_without_data(name: str) -> None:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    assert drawing.svg(SPECS[name], (), "c1").startswith('<svg aria-hidden="true"')


def test_a_limit_and_an_earlier_run_are_lines_of_their_own() -> None:
    plain, both = charts.curves("GB/s", False, False), charts.curves("GB/s", True, True)
    assert len(both["layer"]) - len(plain["layer"]) == 2


def test_bars_grow_with_their_number_up_to_a_page() -> None:
    heights = [charts.bars("%", count)["height"] for count in (1, 10, 1000)]
    assert heights == sorted(heights)
    assert heights[-1] < 1000
