"""nccltool runs."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, kept, shown, verbose
from nccltool.cli.tree import section


@click.command("runs", cls=ToolCommand, short_help="List saved runs, or show one again")
@click.argument("run", required=False, shell_complete=values.runs)
@shown
@section(OUTPUT, verbose)
@kept
def command(run: str | None, form: str, output: str | None, run_dir: str | None) -> None:
    """List saved runs, or show RUN again: an id, the start of an id, latest, a folder, or a run.json."""
    from nccltool.cli.screen import deliver, look_of, text_of
    from nccltool.core import run_directory
    from nccltool.core.errors import BadInput
    from nccltool.monitor import run_list

    base = run_directory.base_folder(run_dir)
    if run is not None:
        text = text_of(run_list.load(run_directory.find(base, run)), form, look_of(output))
    elif form in run_list.FORMATS:
        text = run_list.render(tuple(run_list.entries(base)), form, look_of(output))
    else:
        raise BadInput(
            f"--format {form} shows one run, not a list of runs", f"choose from {', '.join(run_list.FORMATS)}"
        )
    deliver(text, output)
