"""nccltool preflight."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nccltool.cli import options as shared
from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import group, injected_fault, option
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.preflight.views import FORMATS, renderer


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
    shared.verbose,
    shared.quiet,
    several(*FORMATS),
)
@shared.handed_over
@shared.exit_styled
@shared.stored
@shared.kept
@shared.history
def command(**options: Any) -> None:
    """Check a cluster before jobs run on it: hosts, settings, connectivity, data, and speed.

    Runs the stages of a suite: inventory, doctor, reach, within, across, pairs, train. When a stage fails, the
    stages that depend on it are skipped. Exit code 1: a check failed; 3: a host or rank is missing; 4: nothing
    could be checked.
    """
    from nccltool.cli import handover, preflight_progress, progress
    from nccltool.cli.outlet import deliver_each, put, ready_to_deliver
    from nccltool.cli.screen import remember, with_history
    from nccltool.core import processes, run_directory
    from nccltool.core.documents import this_command
    from nccltool.core.text import escaped
    from nccltool.launch.options import StartOptions
    from nccltool.preflight import run
    from nccltool.preflight.options import PreflightOptions, from_options

    base = run_directory.base_folder(options["run_dir"])
    start = group(StartOptions, options, fault=injected_fault())
    ask = from_options(group(PreflightOptions, options, start=start), os.environ)
    ask = replace(ask, start_s=processes.age_s())
    targets = handover.targets(options)
    if options["dry_run"]:
        put(run.plan(ask))
        return
    ready_to_deliver()

    launcher = escaped(f"launcher: {ask.where.launch.launcher} ({ask.where.launch.why})")
    with progress.shown(preflight_progress.StageNews(), launcher, options["quiet"]) as shown:
        found = run.preflight(ask, base, this_command(), shown.update)
    if troubles := targets.take(found):
        found = run.with_findings(found, troubles)
    found = with_history(found, options)
    try:
        deliver_each(lambda form, look: renderer(form, look)(found))
    finally:  # most of all where the result could not be written: it is not lost
        if not options["quiet"]:
            say(f"saved to {escaped(found.folder)}")
        remember(Path(found.folder), options)
    observed = found.would_exit is not None
    raise shared.CommandEnded("pass" if observed else found.verdict.status, found.verdict.exit_code)
