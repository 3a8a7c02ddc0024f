"""nccltool slurm-prolog."""

import os
from typing import Any

import click

from nccltool.cli.options import CommandEnded, exit_styled, option


@click.command("slurm-prolog")
@option("--expect-gpus", type=click.IntRange(0, 64), help="GPUs that must be seen.  [default: any number]")
@option("--select", multiple=True, help="Only rules whose code or name begins so; commas, or several times.")
@option("--ignore", multiple=True, help="Not the rules whose code or name begins so.")
@option("--drain", is_flag=True, help="Drain the node when it fails, with the reason (scontrol).")
@option("--resume", is_flag=True, help="With --drain: resume a healthy node that --drain has drained.")
@option("--node", help="What Slurm calls this host.  [default: SLURMD_NODENAME, or its short name]")
@option("--budget", "total_budget", help="Time for all of it, as 60s or 2min.  [default: 9s]")
@exit_styled
def command(**options: Any) -> None:
    """Judge this node for Slurm's Prolog, Epilog or HealthCheckProgram: local, and within seconds.

    Rules of severity error fail it. The first line of standard output is the reason, as `sinfo -R` shows it.
    Exit code 1 when the node fails, 4 when that could not be judged: a script must not drain a node for that.
    """
    from nccltool.cli.screen import put
    from nccltool.core.text import escaped
    from nccltool.preflight import scheduler_hooks

    ask = scheduler_hooks.from_options(os.environ, **options)
    answer = scheduler_hooks.acted(ask, scheduler_hooks.judge(ask, scheduler_hooks.look(ask)))
    if answer.reason:
        put(f"{answer.reason}\n")
    for line in (*answer.details, answer.done, answer.trouble and f"scontrol failed: {answer.trouble}"):
        if line:
            click.echo(escaped(line), err=True)
    raise CommandEnded(answer.verdict.status, answer.verdict.exit_code)
