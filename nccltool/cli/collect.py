"""nccltool collect."""

import click

from nccltool.cli.options import kept, shown, verbose


@click.command("collect")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@shown
@verbose
@kept
def command(files: tuple[str, ...], form: str, output: str | None, run_dir: str | None) -> None:
    """Make one run of the logs of all commands that took part in it, such as the pods of a job.

    FILE is what `nccltool probe --events` (or `train --events`) printed on one or more hosts, or what
    `kubectl logs` shows of that, with prefixes, times and other lines; - is standard input. The run is judged,
    kept and shown like one that ran here.
    """
    from nccltool.cli.screen import deliver, look_of, text_of
    from nccltool.core import run_directory
    from nccltool.interop import collect

    collected = collect.collect(files, run_directory.base_folder(run_dir))
    deliver(text_of(collected.run, form, look_of(output)), output)
    kept_in = "kept in" if collected.is_new else "not kept: this run is there already,"
    click.echo(f"{kept_in} {collected.folder}", err=True)
    raise SystemExit(collected.run.verdict.exit_code)
