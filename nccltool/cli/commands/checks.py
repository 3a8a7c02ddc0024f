"""nccltool checks."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import option, text_or_json
from nccltool.cli.tree import Argument

_ACTIONS = click.Choice(("list", "show", "copy", "validate"))


@click.command("checks", cls=ToolCommand, short_help="List, show, copy, and validate preflight suites")
@click.argument("action", cls=Argument, type=_ACTIONS)
@click.argument("words", nargs=-1, metavar="[NAME|FILE]...", shell_complete=values.checks)
@option("--force", is_flag=True, settable="no", help="Overwrite an existing file.")
@text_or_json
def command(action: str, words: tuple[str, ...], force: bool, form: str) -> None:
    """List, show, copy, and validate suites and platforms: what preflight runs and expects.

    list: the suites and platforms that come with nccltool. show NAME: what one runs and expects, with the
    source of each number. copy NAME [FILE]: copy one to edit it. validate [FILE]...: report every mistake by
    file and line.
    """
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import put
    from nccltool.preflight import suite_actions

    answer = suite_actions.do(action, words, force)
    look = look_of()
    # what does not fit hangs below its line; a pipe gets each as one
    lines = (part for line in answer.lines for part in look.wrapped(line, " " * (_indent(line) + 4)))
    put(answer.document if form == "json" else "".join(f"{line}\n" for line in lines))
    raise SystemExit(answer.exit_code)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
