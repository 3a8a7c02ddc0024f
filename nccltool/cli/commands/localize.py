"""nccltool localize."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.localize_options import judged
from nccltool.cli.options import OUTPUT, exit_styled, kept, plot, verbose
from nccltool.cli.tree import section
from nccltool.localize.views import FORMATS


@click.command("localize", cls=ToolCommand, short_help="Name slow nodes, rails, and links from results of pairs")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=values.runs)
@judged
@section(OUTPUT, verbose, several(*FORMATS))
@plot
@kept
@exit_styled
def command(files: tuple[str, ...], write_exclude: str | None, plot: str | None, **options: str | None) -> None:
    """Name slow nodes, rails, and links from results of pairs.

    FILE is a CSV file with the columns a,b,busbw (GB/s), an mpiGraph matrix, a folder with a result of nccl-tests
    or OSU for each pair, a run of nccltool pairs, or - for standard input. Several are combined.

    Names suspects with a confidence, slow pairs that nothing explains, and what to measure next. Exit code 1:
    something is slow; 0: nothing slow was found on the links that were measured; 4: too few measurements.
    """
    from nccltool.api import commands
    from nccltool.cli.localize_options import exclude, keep_inputs, ready_to_exclude
    from nccltool.cli.options import CommandEnded, group
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.cli.screen import draw, ready_to_draw
    from nccltool.core.documents import this_command
    from nccltool.localize import views

    read = [*files, *(options[name] or "" for name in ("topology", "expect"))]
    keep_inputs(read, {"--write-exclude": write_exclude, "--plot": plot})
    ready_to_deliver()
    ready_to_draw(plot)
    ready_to_exclude(write_exclude)
    run = commands.localized(files, group(commands.LocalizeOptions, options), this_command())
    deliver_each(lambda form, look: views.renderer(form, look)(run))
    try:
        exclude(run, write_exclude)
    finally:  # one that cannot be written costs no other
        draw(run, plot)
    raise CommandEnded(run.verdict.status, run.verdict.exit_code)
