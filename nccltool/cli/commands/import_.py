"""nccltool import; the underscore because the word is Python's."""

from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, CommandEnded, exit_styled, kept, option, quiet, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.probe.views import FORMATS


@click.command("import", cls=ToolCommand, short_help="Import results of nccl-tests and other benchmarks")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=values.files)
@section(
    "Details missing from FILE",
    option(
        "--op",
        metavar="OP",
        settable="project",
        help="Operation, for output of nccl-tests before 2.17.",
        shell_complete=values.operations,
    ),
    option("--ranks", type=click.IntRange(1), help="Number of ranks, for output that does not list them."),
)
@section(
    OUTPUT,
    option("--keep", is_flag=True, settable="no", help="Save the runs, so that `nccltool runs` lists them."),
    verbose,
    quiet,
)
@several(*FORMATS)
@exit_styled
@kept
def command(files: tuple[str, ...], op: str | None, ranks: int | None, keep: bool, **shown: Any) -> None:
    """Import results of nccl-tests, rccl-tests, and other benchmarks as runs, and check them.

    FILE is the unchanged output of one or more tests; - is standard input. Files that are not recognized are
    refused; missing rows and numbers that contradict each other become findings.
    """
    from nccltool.cli.screen import deliver_each, ready_to_deliver
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.interop import import_results
    from nccltool.probe import views

    ready_to_deliver()
    found = import_results.read(files, import_results.told(op, ranks), this_command())
    if keep:
        base = run_directory.base_folder(shown["run_dir"])
        for imported in found:
            folder = import_results.keep(imported, base)
            if not shown["quiet"]:
                say(f"saved to {folder}")
    runs = [imported.run for imported in found]
    deliver_each(lambda form, look: views.joined(runs, form, look))
    worst = import_results.worst(found)
    raise CommandEnded(worst.status, worst.exit_code)
