"""nccltool report."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, kept, option, stored, verbose
from nccltool.cli.tree import section
from nccltool.report.views import FORMATS


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
@section(OUTPUT, verbose)
@several(*FORMATS, endings={".html": "html", ".htm": "html", ".md": "markdown"})
@stored
@kept
def command(runs: tuple[str, ...], baseline: str | None, **shown: str | None) -> None:
    """Write a report of runs: the verdict, what failed and what to do, charts, evidence, and the raw data.

    RUN is the id of a run, the start of an id, latest, a folder, a run.json, or an HTML report. The newest run is
    shown in detail; of two runs, the report compares the newer with the older. `--output report.html` writes one
    file that opens offline.
    """
    from nccltool.cli.deliveries import every
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.report import drawing, gather, page, views

    ready_to_deliver()
    if any(one.form == "html" for one in every()):
        drawing.require()
    against = gather.baseline(baseline, shown["store"]) if baseline else None
    base = run_directory.base_folder(shown["run_dir"])
    made = page.of(gather.material(runs, base, against, this_command()))
    deliver_each(lambda form, look: views.renderer(form, look)(made))
