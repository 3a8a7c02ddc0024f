"""The matrix of a localization as a picture: who is slow with whom, in colors that always mean the same."""

from collections.abc import Iterator

from nccltool.core.errors import ResultNotWritten
from nccltool.core.text import counted, escaped
from nccltool.localize import heat_map, within
from nccltool.localize.headline import headline
from nccltool.localize.heat_map import HeatMap
from nccltool.localize.localized import LocalizedRun
from nccltool.probe import plots
from nccltool.probe.chart import Box, Label, Shape

_LEFT, _TOP, _SIDE = 150.0, 60.0, 430.0
_COLORS = ("#7f0000", "#d7301f", "#fc8d59", "#fdd49e", "#2c7fb8")
"""From slow to healthy, told apart also by people who see few colors; of steps as in the terminal."""
_EMPTY = "#f0f0f0"
_MOST = 96
"""Rows and columns of cells that can be seen."""
_NAMES = 24
"""Rows that have room for their names."""
_LETTERS = 20


def drawn(run: LocalizedRun, path: str) -> bytes:
    """The file. Raises ResultNotWritten where no pair can be compared."""
    made = _map(run)
    if made is None:
        raise ResultNotWritten(
            f"--plot {path} was not drawn: no measured pair, or no healthy speed to compare with",
            "measure more pairs, or name the healthy speed: nccltool localize RUN --expect RATE --plot FILE",
        )
    return plots.rendered((*_frame(run, made), *_cells(made), *_scale()), path)


def is_drawable(run: LocalizedRun) -> bool:
    """Whether a pair can be compared."""
    return _map(run) is not None


def _map(run: LocalizedRun) -> HeatMap | None:
    return heat_map.of(run.encounters, run.localization.healthy_busbw_bytes_per_s, _MOST, _MOST)


def _frame(run: LocalizedRun, made: HeatMap) -> Iterator[Shape]:
    yield Label(x=20, y=26, text=escaped(headline(run)), size=15, anchor="left")
    yield Box(x=_LEFT, y=_TOP, width=_SIDE, height=_SIDE, color=_EMPTY)
    who = within.who(run.is_within)
    if len(made.columns[0]) > 1:
        text = f"each column: {len(made.columns[0])} {who}s, slowest pair"
        yield Label(x=_LEFT, y=_TOP + _SIDE + 20, text=text, anchor="left")
    if made.more_rows:
        text = f"and {counted(made.more_rows, f'faster {who}')}"
        yield Label(x=_LEFT + _SIDE, y=_TOP + _SIDE + 20, text=text, anchor="right")
    height = _SIDE / len(made.rows)
    step = -(-len(made.rows) // _NAMES)
    for number in range(0, len(made.rows), step):
        name = escaped(made.rows[number])
        text = name if len(name) <= _LETTERS else f"..{name[2 - _LETTERS :]}"
        yield Label(x=_LEFT - 8, y=_TOP + (number + 0.5) * height + 4, text=text, anchor="right")


def _cells(made: HeatMap) -> Iterator[Shape]:
    width, height = _SIDE / len(made.columns), _SIDE / len(made.rows)
    for row, cells in enumerate(made.cells):
        for column, share in enumerate(cells):
            if share is not None:
                yield Box(
                    x=_LEFT + column * width,
                    y=_TOP + row * height,
                    width=width,
                    height=height,
                    color=_COLORS[heat_map.shade(share)],
                )


def _scale() -> Iterator[Shape]:
    x, y = _LEFT + _SIDE + 40, _TOP + 12
    yield Label(x=x, y=y, text="share of the healthy speed", anchor="left")
    texts = [f"under {100 * step:.0f} %" for step in heat_map.STEPS] + [
        f"{100 * heat_map.STEPS[-1]:.0f} % and more"
    ]
    for number, (color, text) in enumerate(
        zip((*_COLORS, _EMPTY), (*texts, "not measured"), strict=True), start=1
    ):
        yield Box(x=x, y=y + 22 * number - 12, width=16, height=16, color=color)
        yield Label(x=x + 24, y=y + 22 * number + 1, text=text, anchor="left")
