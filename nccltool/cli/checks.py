"""nccltool checks."""

import click

from nccltool.cli.options import option

_ACTIONS = click.Choice(("list", "show", "copy", "validate"))


@click.command("checks")
@click.argument("action", type=_ACTIONS)
@click.argument("words", nargs=-1, metavar="[NAME | FILE]...")
@option("--force", is_flag=True, help="Write over a file that is there.")
def command(action: str, words: tuple[str, ...], force: bool) -> None:
    """Suites and platforms: what preflight runs, and what it expects.

    list: those that come with nccltool. show NAME: what one runs and expects, and where each number is from. copy
    NAME [FILE]: make one that can be edited. validate [FILE]...: name every mistake, by file and line.
    """
    from nccltool.cli.screen import put
    from nccltool.preflight import suite_actions

    text, exit_code = suite_actions.do(action, words, force)
    put(text)
    raise SystemExit(exit_code)
