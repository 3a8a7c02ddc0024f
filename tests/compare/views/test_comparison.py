"""A comparison in every format."""

from pathlib import Path

import pytest

from nccltool.compare.result import Comparison
from nccltool.compare.views.comparison import render
from nccltool.core.look import Look
from nccltool.core.notices import BELOW
from tests.cli.commands.test_compare import kept
from tests.compare.samples import STEADY, compared, run, side
from tests.conftest import Nccltool


@pytest.mark.parametrize("form", ["csv", "markdown", "table"])
def test_formats(nccltool: Nccltool, form: str, tmp_path: Path) -> None:
    a, b = kept(1), kept(2, 1.2)
    said = nccltool("compare", a, b, "--format", form)
    assert said.code == 1
    assert said.out.count("all_reduce") >= 2
    assert nccltool("compare", a, b, "--format", form, "--output", str(tmp_path / "x")).out == ""
    assert (tmp_path / "x").read_text() == said.out


def _slower() -> Comparison:
    a = side("before", *(run(f"a{k}", [time, time]) for k, time in enumerate(STEADY)))
    b = side("after", *(run(f"b{k}", [143 * time, time]) for k, time in enumerate(STEADY)))
    return compared(a, b)


@pytest.mark.parametrize(
    ("width", "columns"), [(80, []), (90, ["time A"]), (200, ["time A", "busbw A"]), (None, ["time A", "busbw A"])]
)
def test_it_fits_the_screen(width: int | None, columns: list[str]) -> None:
    text = render(_slower(), "table", Look(width=width))
    assert [name for name in ("time A", "busbw A") if name in text] == columns
    assert width is None or max(map(len, text.splitlines())) <= width


def test_the_verdict_comes_first_and_what_is_worse_is_marked() -> None:
    lines = render(_slower(), "table", Look(colors=True)).splitlines()
    assert lines[0].startswith("\x1b[1;31mWORSE: typical row: 12x slower (95 % CI ")
    assert [line.split()[0] for line in lines[1:] if "\x1b[1;31mWORSE" in line] == ["all_reduce", "typical"]


@pytest.mark.parametrize("verbose", [False, True])
def test_the_legend_is_for_who_asks(verbose: bool) -> None:
    assert ("median of the runs' means" in render(_slower(), "table", Look(verbose=verbose))) == verbose


def test_names_from_files_do_not_act_on_the_terminal() -> None:
    a, b = (side("\x1b[2J", run(name, [time])) for name, time in (("a", 1.0), ("b", 2.0)))
    assert "\x1b[2J" not in render(compared(a, b), "table")


def test_a_low_screen_shows_the_largest_changes() -> None:
    sizes = range(1, 41)
    a = side("before", *(run(f"a{k}", [time] * 40) for k, time in enumerate(STEADY)))
    b = side("after", *(run(f"b{k}", [number * time for number in sizes]) for k, time in enumerate(STEADY)))
    found = compared(a, b)
    lines = render(found, "table", Look(width=100, height=24)).splitlines()
    assert len(lines) <= 24 - BELOW
    (note,) = (line for line in lines if line.endswith(" smaller changes; -v shows all"))
    shown = [line for line in lines if line.startswith("all_reduce")]
    assert len(shown) + int(note.split()[1]) == 40
    assert "40x slower" in shown[-1]
    whole = render(found, "table", Look(width=100, height=24, verbose=True)).splitlines()
    assert sum(line.startswith("all_reduce") for line in whole) == 40
