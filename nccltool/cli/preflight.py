"""nccltool preflight."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import options as shared
from nccltool.cli.options import group, injected_fault, option
from nccltool.preflight.views import FORMATS, renderer

if TYPE_CHECKING:
    from nccltool.preflight.result import Preflight


@click.command("preflight")
@option("--suite", default="preflight", help="What to check: a name of `nccltool checks list`, or a file.")
@option("--platform", default="auto", help="Numbers to hold it against: a name, a file, auto or none.")
@option("--only", multiple=True, help="Only these rungs; commas, or several times.")
@option("--skip", multiple=True, help="Not these rungs.")
@option("--budget", "total_budget", help="Time for all of it, as 60s or 2min.")
@option("--observe", is_flag=True, help="Never fail: exit with 0, and say what it would have been.")
@option("--dry-run", is_flag=True, help="Print what would run, and how long it takes; start nothing.")
@option("--baseline", help="Hold the numbers against this baseline too: a name, or a file.")
@option("--hosts-dir", type=click.Path(file_okay=False), help="Write hosts.pass, nodes.exclude, ... here too.")
@option("--metrics", multiple=True, metavar="WAY", help="Hand it over: textfile:FILE.prom, pushgateway:URL.")
@shared.laddered
@option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@shared.verbose
@shared.formats(*FORMATS)
@shared.exit_styled
@shared.written
@shared.stored
@shared.kept
def command(**options: Any) -> None:
    """One verdict for a cluster: is everything there, set, reachable, right and fast enough.

    Climbs the rungs of a suite: inventory, doctor, reach, within nodes, across nodes, train. One that fails stops
    what depends on it. Exit code 1 when a check failed, 3 when a host or rank is missing, 4 when nothing could be
    judged.
    """
    from nccltool.cli.screen import deliver, look_of, put, writable
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.core.text import escaped
    from nccltool.launch.options import StartOptions
    from nccltool.preflight import run
    from nccltool.preflight.options import PreflightOptions, from_options

    base = run_directory.base_folder(options["run_dir"])
    start = group(StartOptions, options, fault=injected_fault())
    ask = from_options(group(PreflightOptions, options, start=start), os.environ)
    hand_over = _handing_over(options) if options["metrics"] else None
    if options["dry_run"]:
        put(run.plan(ask))
        return
    if options["output"]:
        writable(options["output"])

    def tell(line: str) -> None:
        if not options["quiet"]:
            click.echo(escaped(line), err=True)

    tell(f"launcher: {ask.where.launch.launcher} ({ask.where.launch.why})")
    found = run.preflight(ask, base, this_command(), tell)
    if hand_over:
        found = hand_over(found)
    deliver(renderer(options["form"], look_of(options["output"]))(found), options["output"])
    tell(f"kept in {found.folder}")
    observed = found.would_exit is not None
    raise shared.CommandEnded("pass" if observed else found.verdict.status, found.verdict.exit_code)


def _handing_over(options: Mapping[str, Any]) -> "Callable[[Preflight], Preflight]":
    """Hands metrics over, and adds what went wrong with that. Raises BadInput for a way that there is not."""
    from nccltool.monitor import export, exporters  # what they need is imported only where it is asked for
    from nccltool.preflight import run

    ways = [exporters.named(text) for text in options["metrics"]]

    def hand_over(found: "Preflight") -> "Preflight":
        troubles = export.handed_over(found, ways, options["baseline"], options["store"])
        for trouble in troubles:
            click.echo("\n".join(trouble.lines()), err=True)
        return run.with_findings(found, troubles) if troubles else found

    return hand_over
