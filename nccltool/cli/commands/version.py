"""nccltool version."""

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, formats, written
from nccltool.cli.tree import section


@click.command("version", cls=ToolCommand, short_help="Show the version of nccltool, Python, and torch")
@section(OUTPUT, formats("table", "json"), written)
def command(form: str, output: str | None) -> None:
    """Show the version of nccltool, and of the Python and torch it runs with."""
    from nccltool.cli.outlet import deliver
    from nccltool.core import installation

    found = installation.here()
    deliver(installation.to_json(found) if form == "json" else installation.to_text(found), output)
