"""nccltool facts."""

from pathlib import Path

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, formats, option, verbose, written
from nccltool.cli.tree import section
from nccltool.probe.views import FORMATS


@click.command("facts", cls=ToolCommand, short_help="Show this host's network, GPUs, limits, and versions")
@option(
    "--root",
    type=click.Path(file_okay=False),
    help="Read a captured file tree (proc, sys, dev, etc) instead of this host.",
)
@section(OUTPUT, verbose, formats(*FORMATS), written)
@click.pass_context
def command(context: click.Context, root: str | None, form: str, output: str | None) -> None:
    """Show this host as a rank sees it: network, RDMA, GPUs, limits, versions, settings.

    With --output the snapshot is saved as JSON; `nccltool doctor --facts` checks it on another host.
    """
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver
    from nccltool.core.errors import BadInput
    from nccltool.hosts import reader
    from nccltool.hosts.views import table

    if form not in table.FORMATS:
        raise BadInput(f"--format {form} shows a run, not facts", f"choose from {', '.join(table.FORMATS)}")
    folder = Path(root or "/")
    if not any((folder / name).is_dir() for name in ("proc", "sys")):
        raise BadInput(
            f"--root {folder} contains neither proc nor sys",
            "pass the directory that contains the captured proc and sys",
        )
    host = reader.take(folder)
    asked = context.get_parameter_source("form") is not click.core.ParameterSource.DEFAULT
    deliver(table.render(host, "json" if output and not asked else form, look_of(output)), output)
