"""nccltool explain."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, formats
from nccltool.cli.tree import section


@click.command("explain", cls=ToolCommand, short_help="Explain any word that nccltool prints")
@click.argument("words", nargs=-1, metavar="[WORD]", shell_complete=values.explained)
@section(OUTPUT, formats("table", "json"))
def command(words: tuple[str, ...], form: str) -> None:
    """Explain any word that nccltool prints.

    WORD is a finding (rank-died), a check (reach/ports), a rule (SYN009), a root cause (ib-link), a variable
    (NCCL_IB_HCA), an alert, a metric, an exit code (exit 3), a column (busbw), a JSON key, a suite, or a word of
    the glossary, in any spelling: rank-died, rank_died, Rank died.

    Without WORD, list the kinds of words. With a kind, such as findings, list its words.
    """
    from nccltool.cli import help_pages
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import put

    look, word = look_of(), " ".join(words)
    if form == "json":
        put(help_pages.to_json(word))
    else:
        put(help_pages.find(word, look) if words else help_pages.overview(look))
