"""nccltool slurm-prolog."""

import os
from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, CommandEnded, exit_styled, option, quiet
from nccltool.cli.streams import say
from nccltool.cli.tree import section


@click.command("slurm-prolog", cls=ToolCommand, short_help="Check this node in a Slurm prolog or health check")
@section(
    "What to check",
    option("--expect-gpus", type=click.IntRange(0, 64), help="Required number of GPUs.  [default: any]"),
    option(
        "--select",
        multiple=True,
        metavar="PREFIX,...",
        settable="project",
        help="Only rules whose code or name starts with this. Repeatable.",
        shell_complete=values.rules,
    ),
    option(
        "--ignore",
        multiple=True,
        metavar="PREFIX,...",
        settable="project",
        help="Skip these rules. Repeatable.",
        shell_complete=values.rules,
    ),
    option(
        "--budget",
        "total_budget",
        metavar="TIME",
        settable="project",
        help="Limit for all checks: 60s, 2min.  [default: 9s]",
    ),
)
@section(
    "What to do",
    option("--drain", is_flag=True, help="If the node fails, drain it with the reason (scontrol)."),
    option("--resume", is_flag=True, help="With --drain: resume a healthy node that --drain drained."),
    option(
        "--node",
        metavar="NAME",
        help="Slurm's name for this host.  [default: SLURMD_NODENAME or the short host name]",
    ),
)
@section(OUTPUT, quiet)
@exit_styled
def command(quiet: bool, **options: Any) -> None:
    """Check this node in a Slurm Prolog, Epilog, or HealthCheckProgram: local checks, within seconds.

    A rule of severity error fails the node. The first line of standard output is the reason, as `sinfo -R` shows
    it. Exit code 1: the node failed; 4: the node could not be checked, and must not be drained because of this.
    """
    from nccltool.cli.outlet import put
    from nccltool.core.text import escaped
    from nccltool.preflight import scheduler_hooks

    ask = scheduler_hooks.from_options(os.environ, **options)
    answer = scheduler_hooks.acted(ask, scheduler_hooks.judge(ask, scheduler_hooks.look(ask)))
    if answer.reason:
        put(f"{answer.reason}\n")
    notes = () if quiet else (*answer.details, answer.done)
    for line in (*notes, answer.trouble and f"scontrol failed: {answer.trouble}"):
        if line:
            say(escaped(line))
    raise CommandEnded(answer.verdict.status, answer.verdict.exit_code)
