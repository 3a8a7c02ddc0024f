"""nccltool runs."""

import click

from nccltool.cli.options import kept, shown, verbose


@click.command("runs")
@click.argument("run", required=False)
@shown
@verbose
@kept
def command(run: str | None, form: str, output: str | None, run_dir: str | None) -> None:
    """List past runs, or show one again: RUN is an id, a folder, or a run.json."""
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
