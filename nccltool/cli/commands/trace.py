"""nccltool trace."""

from typing import Any

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, CommandEnded, exit_styled, verbose
from nccltool.cli.tree import section

_ABOUT = "Show where training steps lose time, from profiler traces"
_FORMATS = ("table", "json")


@click.command("trace", cls=ToolCommand, short_help=_ABOUT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(readable=False))
@section(OUTPUT, verbose, several(*_FORMATS))
@exit_styled
def command(paths: tuple[str, ...], **_options: Any) -> None:
    """Show where training steps lose time, from profiler traces.

    PATH is a trace of torch.profiler (.json, .json.gz), a log of NCCL Inspector (HOST-pidN.log), or a folder of
    these, one per rank. Prints step times, exposed and hidden communication, idle time and its cause, the late
    rank, and top kernels; for NCCL Inspector, bus bandwidth by communicator, and the late rank. The clocks of
    ranks need not agree. Exit code 0: traces were read, with or without warnings; 4: they show nothing.
    """
    from nccltool.api import commands
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core.documents import this_command
    from nccltool.trace.views import renderer

    ready_to_deliver()
    report = commands.traced(paths, this_command())
    deliver_each(lambda form, look: renderer(form, look)(report))
    raise CommandEnded(report.verdict.status, report.verdict.exit_code)
