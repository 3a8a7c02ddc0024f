"""nccltool help."""

import click

from nccltool.cli.command import ToolCommand


@click.command("help", cls=ToolCommand, short_help="Show the help of a command")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command: `nccltool help probe` is `nccltool probe --help`."""
    root = context.find_root()
    root.command.main([*words, "--help"], prog_name=root.info_name, standalone_mode=False)
