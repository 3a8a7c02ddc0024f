"""Measurements as a monitoring plugin says them: the verdict, and bus bandwidths as figures."""

from collections.abc import Sequence

from nccltool.core.plugin_line import plugin_line, time_figure
from nccltool.core.text import escaped
from nccltool.core.units import format_bytes
from nccltool.core.verdicts import badness
from nccltool.probe import headline
from nccltool.probe.result import Measurement, Run

_MOST_ROWS = 16
"""Measurements among the figures: NRPE before 3 carries 1 KiB."""


def render_all(runs: Sequence[Run]) -> str:
    """A line a run. The worst is first, which a monitor shows; only its line can have figures."""
    first, *others = sorted(runs, key=lambda run: badness(run.verdict))
    return render(first) + "".join(plugin_line(run.verdict, headline.of(run), ()) for run in others)


def render(run: Run) -> str:
    rows = [figure(row) for row in run.measurements[:_MOST_ROWS]]
    return plugin_line(run.verdict, headline.of(run), [*time_figure(run.info.duration_s), *rows])


def figure(row: Measurement) -> str:
    """The plugins' units have no rate: GB/s is in the name."""
    size = format_bytes(row.bytes).replace(" ", "")
    of = f"{escaped(row.group.text).replace(chr(39), '')} " if row.group else ""
    return f"'{of}{row.op} {size} {row.placement} busbw GB/s'={row.busbw_bytes_per_s / 1e9:.6g}"
