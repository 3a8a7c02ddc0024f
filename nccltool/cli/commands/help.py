"""nccltool help."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.core.errors import BadInput


@click.command("help", cls=ToolCommand, short_help="Show the help of a command")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=values.commands)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command: `nccltool help probe` is `nccltool probe --help`."""
    root = context.find_root()
    named, rest = values.named(root, words)
    if rest and not isinstance(named, click.Group) and not _takes_words(named):
        path = words[: len(words) - len(rest)]
        raise BadInput(f"unexpected argument {rest[0]!r}", f"nccltool help {' '.join(path)}")
    root.command.main([*words, "--help"], prog_name=root.info_name, standalone_mode=False)


def _takes_words(command: click.Command) -> bool:
    return any(isinstance(one, click.Argument) for one in command.params)
