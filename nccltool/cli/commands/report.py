"""nccltool report."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, kept, option, stored, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.core.text import counted, escaped
from nccltool.report.views import FORMATS

if TYPE_CHECKING:
    from nccltool.report.parts import ReportPage

_AGAIN = "name another folder"


@click.command("report", cls=ToolCommand, short_help="Write a report of runs: one HTML file, or Markdown")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=values.runs)
@section(
    "What to compare with",
    option(
        "--baseline",
        metavar="NAME",
        help="Also compare with this baseline.",
        shell_complete=values.baselines,
    ),
)
@section(
    OUTPUT,
    option(
        "--charts",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Also write each chart to DIR, as SVG and as PNG.",
    ),
    verbose,
)
@several(*FORMATS, endings={".html": "html", ".htm": "html", ".md": "markdown"})
@stored
@kept
def command(runs: tuple[str, ...], baseline: str | None, charts: str | None, **shown: str | None) -> None:
    """Write a report of runs: the verdict, what failed and what to do, charts, evidence, and the raw data.

    RUN is the id of a run, the start of an id, latest, a folder, a run.json, or an HTML report. The newest run is
    shown in detail; of two runs, the report compares the newer with the older. `--output report.html` writes one
    file that opens offline.
    """
    from nccltool.cli.deliveries import every
    from nccltool.cli.outlet import deliver_each, ready_for_files, ready_to_deliver
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.report import drawing, gather, page, views

    ready_to_deliver()
    if any(one.form == "html" for one in every()):
        drawing.require()
    if charts is not None:
        drawing.require("--charts")
        ready_for_files(charts)
    against = gather.baseline(baseline, shown["store"]) if baseline else None
    base = run_directory.base_folder(shown["run_dir"])
    made = page.of(gather.material(runs, base, against, this_command()))
    deliver_each(lambda form, look: views.renderer(form, look)(made))
    if charts is not None:
        _draw(made, Path(charts))


def _draw(made: "ReportPage", folder: Path) -> None:
    """Each chart, twice. Raises ResultNotWritten."""
    from nccltool.cli.outlet import write_file
    from nccltool.report import pictures

    drawn = tuple(pictures.of(made))
    for one in drawn:
        write_file(str(folder / f"{one.name}.svg"), one.svg.encode(), "--charts", _AGAIN)
        write_file(str(folder / f"{one.name}.png"), pictures.png(one), "--charts", _AGAIN)
    say(f"{counted(len(drawn), 'chart')} in {escaped(str(folder))}" if drawn else "the report has no chart")
