"""nccltool preflight."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import options as shared
from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import group, injected_fault, option
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.preflight.views import FORMATS, renderer

if TYPE_CHECKING:
    from nccltool.preflight.result import Preflight


@click.command("preflight", cls=ToolCommand, short_help="Check a cluster before jobs run on it")
@section(
    "What to check",
    option(
        "--suite",
        default="preflight",
        metavar="NAME|FILE",
        settable="project",
        help="Suite to run; see `nccltool checks list`.",
        shell_complete=values.suites,
    ),
    option(
        "--platform",
        default="auto",
        metavar="NAME|FILE",
        settable="project",
        help="Expected numbers: a platform, auto, or none.",
        shell_complete=values.platforms,
    ),
    option(
        "--only",
        multiple=True,
        metavar="STAGE,...",
        settable="project",
        help="Run only these stages. Repeatable.",
        shell_complete=values.stages,
    ),
    option(
        "--skip",
        multiple=True,
        metavar="STAGE,...",
        settable="project",
        help="Skip these stages. Repeatable.",
        shell_complete=values.stages,
    ),
    option(
        "--baseline", metavar="NAME|FILE", help="Also compare with this baseline.", shell_complete=values.baselines
    ),
    option("--observe", is_flag=True, help="Report failures, but exit with 0."),
    option("--dry-run", is_flag=True, help="Print the commands and their estimated time; run nothing."),
)
@shared.laddered
@section(
    shared.PATIENCE,
    option(
        "--budget",
        "total_budget",
        metavar="TIME",
        settable="project",
        help="Limit for all checks: 60s, 2min.",
    ),
)
@section(
    shared.OUTPUT,
    option(
        "--hosts-dir",
        type=click.Path(file_okay=False),
        help="Also write the host lists (hosts.pass, nodes.exclude, ...) to DIR.",
    ),
    option(
        "--metrics",
        multiple=True,
        metavar="TARGET",
        help="Export metrics: textfile:FILE.prom or pushgateway:URL. Repeatable.",
    ),
    shared.verbose,
    shared.quiet,
    shared.formats(*FORMATS),
)
@shared.exit_styled
@shared.written
@shared.stored
@shared.kept
def command(**options: Any) -> None:
    """Check a cluster before jobs run on it: hosts, settings, connectivity, data and speed.

    Runs the stages of a suite: inventory, doctor, reach, within, across, pairs, train. When a stage fails, the
    stages that depend on it are skipped. Exit code 1: a check failed; 3: a host or rank is missing; 4: nothing
    could be checked.
    """
    from nccltool.cli import preflight_progress, progress
    from nccltool.cli.looks import look_of
    from nccltool.cli.screen import deliver, put, writable
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

    launcher = escaped(f"launcher: {ask.where.launch.launcher} ({ask.where.launch.why})")
    with progress.shown(preflight_progress.StageNews(), launcher, options["quiet"]) as shown:
        found = run.preflight(ask, base, this_command(), shown.update)
    if hand_over:
        found = hand_over(found)
    try:
        deliver(renderer(options["form"], look_of(options["output"]))(found), options["output"])
    finally:  # most of all where the result could not be written: it is not lost
        if not options["quiet"]:
            say(f"saved to {escaped(found.folder)}")
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
            say("\n".join(trouble.lines()))
        return run.with_findings(found, troubles) if troubles else found

    return hand_over
