"""nccltool schema."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import written


@click.command("schema", cls=ToolCommand, short_help="Print the JSON Schema of a document")
@click.argument("kind", required=False, shell_complete=values.document_kinds)
@written
def command(kind: str | None, output: str | None) -> None:
    """Print the JSON Schema of the documents of KIND, or list the kinds.

    KIND is the value of the key `kind` in a document.
    """
    from nccltool.cli.outlet import deliver
    from nccltool.core import schemas

    deliver(schemas.text(kind) if kind else "".join(f"{name}\n" for name in schemas.names()), output)
