"""nccltool explain."""

import click


@click.command("explain")
@click.argument("word", metavar="WORD")
def command(word: str) -> None:
    """The page of a rule (SYN009, quoted-value), of a variable (NCCL_IB_HCA), of a root cause (ib-link) or of an
    alert (NccltoolWrongData).
    """
    from nccltool.cli import help_pages
    from nccltool.cli.screen import put

    put(help_pages.find(word))
