"""nccltool mcp."""

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import option
from nccltool.cli.tree import section


@click.command("mcp", cls=ToolCommand, short_help="Answer assistants over the Model Context Protocol")
@section(
    "What it may read",
    option(
        "--allow",
        type=click.Path(file_okay=False),
        multiple=True,
        help="Folder with files that assistants may ask about. Repeatable.  [default: .]",
    ),
)
def command(allow: tuple[str, ...]) -> None:
    """Answer assistants over the Model Context Protocol, on standard input and output.

    The tools doctor, triage, explain, runs, and compare only read. Secrets are removed from their answers.
    """
    from pathlib import Path

    from nccltool.core.errors import BadInput
    from nccltool.interop import mcp_server
    from nccltool.interop.assistant_tools import AssistantTools

    for folder in allow:
        if not Path(folder).is_dir():
            raise BadInput(f"--allow {folder} is not a folder", "name a folder that exists")
    mcp_server.serve(AssistantTools(tuple(map(Path, allow or (".",)))))
