"""nccltool runs."""

import click

from nccltool.cli.options import kept, shown


@click.command("runs")
@click.argument("run", required=False)
@shown
@kept
def command(run: str | None, form: str, output: str | None, run_dir: str | None) -> None:
    """List past runs, or show one again: RUN is an id, a folder, or a run.json."""
    from pathlib import Path

    from nccltool.cli.screen import preflight_text, put, text_of, write
    from nccltool.core import run_directory
    from nccltool.core.errors import BadInput
    from nccltool.monitor import run_list
    from nccltool.preflight.result import Preflight

    base = Path(run_dir) if run_dir else run_directory.default_base()
    if run is None and form not in run_list.FORMATS:
        raise BadInput(
            f"--format {form} shows one run, not a list of runs", f"choose from {', '.join(run_list.FORMATS)}"
        )
    if run is None:
        text = run_list.render(tuple(run_list.entries(base)), form)
    else:
        found = run_list.load(run_directory.find(base, run))
        text = preflight_text(found, form) if isinstance(found, Preflight) else text_of(found, form)
    if output:
        write(output, text)
    else:
        put(text)
