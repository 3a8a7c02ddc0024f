"""nccltool collect."""

import click

from nccltool.cli.options import kept, shown


@click.command("collect")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@shown
@kept
def command(files: tuple[str, ...], form: str, output: str | None, run_dir: str | None) -> None:
    """Make one run of the logs of all commands that took part in it, such as the pods of a job.

    FILE is what `nccltool probe --events` (or `train --events`) printed on one or more hosts, or what
    `kubectl logs` shows of that, with prefixes, times and other lines; - is standard input. The run is judged,
    kept and shown like one that ran here.
    """
    from pathlib import Path

    from nccltool.cli.screen import put, text_of, write
    from nccltool.core import run_directory
    from nccltool.interop import collect

    collected = collect.collect(files, Path(run_dir) if run_dir else run_directory.default_base())
    text = text_of(collected.run, form)
    if output:
        write(output, text)
    else:
        put(text)
    kept_in = "kept in" if collected.is_new else "not kept: this run is there already,"
    click.echo(f"{kept_in} {collected.folder}", err=True)
    raise SystemExit(collected.run.verdict.exit_code)
