"""nccltool collect."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, CommandEnded, exit_styled, kept, quiet, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.probe.views import FORMATS


@click.command("collect", cls=ToolCommand, short_help="Merge the logs of several hosts into one run")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=values.files)
@section(OUTPUT, verbose, quiet)
@several(*FORMATS)
@exit_styled
@kept
def command(files: tuple[str, ...], quiet: bool, run_dir: str | None, **shown: object) -> None:
    """Merge the logs of several hosts or pods into one run.

    FILE is the output of `nccltool probe --events` (or pairs, or train) on one or more hosts, including
    `kubectl logs` output with prefixes, timestamps, and other lines; - is standard input. The run is checked,
    saved, and printed as if it had run here.
    """
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.cli.screen import text_of
    from nccltool.core import run_directory
    from nccltool.interop import collect

    ready_to_deliver()
    collected = collect.collect(files, run_directory.base_folder(run_dir))
    deliver_each(lambda form, look: text_of(collected.run, form, look))
    saved = "saved to" if collected.is_new else "not saved: the run already exists in"
    if not quiet:
        say(f"{saved} {collected.folder}")
    raise CommandEnded(collected.run.verdict.status, collected.run.verdict.exit_code)
