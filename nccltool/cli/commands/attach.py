"""nccltool attach."""

from typing import Any

import click

from nccltool.cli import INTERRUPTED
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, PATIENCE, CommandEnded, Number, exit_styled, group, option, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section

_FORMATS = ("table", "json", "nagios")


@click.command("attach", cls=ToolCommand, short_help="Show what a running job does, and which rank holds it up")
@section(
    "Which job",
    option("--pid", type=click.IntRange(1), metavar="PID", help="The job of this process on this host."),
    option("--program", metavar="SCRIPT", help="The job that runs SCRIPT, where several jobs run."),
    option("--from", "from_", type=click.Path(), metavar="DIR", help="Check a snapshot that --save wrote."),
)
@section(
    "Where to look",
    option("--hosts", metavar="HOSTS", help="Look at these hosts over ssh: n[01-04],user@x3:2222."),
    option("--hostfile", type=click.Path(dir_okay=False), help="Read the hosts from FILE, one per line."),
    option("--job", metavar="ID", help="Look at all nodes of a Slurm job."),
    option("--kubernetes", metavar="NAMESPACE/NAME", help="Look into the pods of a job with kubectl exec."),
    option("--container", metavar="NAME", help="With --kubernetes: container of the ranks.  [default: the first]"),
    option(
        "--debug-container",
        metavar="IMAGE",
        help="With --kubernetes: add an ephemeral container of IMAGE to each pod, and look from there.",
    ),
    option("--ssh", default="ssh", metavar="COMMAND", help="ssh command, with its own options."),
    option("--remote-python", metavar="PATH", help="Python on the hosts.  [default: the path of this one]"),
)
@section(
    "How to look",
    option(
        "--interval",
        type=Number(1),
        default=1.5,
        metavar="SECONDS",
        help="Time between samples.",
    ),
    option("--samples", type=click.IntRange(2, 100), default=2, help="Samples to take."),
    option(
        "--ras",
        type=click.Choice(("auto", "never", "always")),
        default="auto",
        help="Ask NCCL's RAS about a job that looks stuck; auto: only versions that a query cannot crash.",
    ),
    option(
        "--trust-pickle",
        is_flag=True,
        settable="no",
        help="Also load pickled flight recorder dumps. A pickle can run code.",
    ),
    option("--ask", is_flag=True, help="Have ranks write flight recorder dumps, which changes files of the job."),
    option("--native", is_flag=True, help="Also read native frames of suspects, which stops each up to 2 s."),
)
@section(
    "Watch",
    option(
        "--watch", metavar="INTERVAL", help="Look again every INTERVAL until Ctrl-C: 30s, 2min.", settable="no"
    ),
    option(
        "--metrics",
        metavar="WHERE",
        help="With --watch: serve metrics on HOST:PORT, or write them to FILE.prom.",
        settable="no",
    ),
    option("--until-hung", is_flag=True, help="Watch until the job hangs, then exit with code 1.", settable="no"),
    option(
        "--then",
        metavar="COMMAND",
        help="With --until-hung: run COMMAND, without a shell, for up to 5 min.",
        settable="no",
    ),
)
@section(
    PATIENCE,
    option(
        "--host-timeout",
        type=Number(1),
        default=30.0,
        metavar="SECONDS",
        help="Give up on a host after SECONDS, in addition to the samples.",
    ),
)
@section(
    OUTPUT,
    option("--save", type=click.Path(file_okay=False), help="Save what was seen, redacted, in DIR."),
    verbose,
    several(*_FORMATS),
)
@exit_styled
def command(**options: Any) -> None:
    """Show what a running job does, and which rank holds it up.

    Finds the ranks of a job that was started by any launcher, looks at them twice, and compares them. The job
    needs no preparation and is not changed: nothing is written, signaled, or stopped. Exit code 1: the job
    hangs; 0: it moves, starts, or ends; 4: nothing could be checked.
    """
    from nccltool.api import commands
    from nccltool.attach.options import AttachOptions
    from nccltool.attach.views import renderer
    from nccltool.attach.watch.options import WatchOptions, watch_order
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core.documents import this_command

    ready_to_deliver()
    look_options = group(AttachOptions, options)
    if (order := watch_order(group(WatchOptions, options), look_options)) is not None:
        from nccltool.cli.watching import watched

        raise CommandEnded(*watched(look_options, order, this_command()))
    try:
        report = commands.attached(look_options, this_command())
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            say("interrupted before there was a verdict; the job was not changed")
        raise
    deliver_each(lambda form, look: renderer(form, look)(report))
    if report.unsaved is not None:
        raise report.unsaved
    raise CommandEnded(report.verdict.status, report.verdict.exit_code)
