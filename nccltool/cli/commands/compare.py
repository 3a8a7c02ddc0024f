"""nccltool compare."""

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, Number, kept, option, stored, verbose
from nccltool.cli.tree import section


@click.command("compare", cls=ToolCommand, short_help="Compare two runs, or a run with a baseline")
@click.argument("a", metavar="A", shell_complete=values.sides)
@click.argument("b", metavar="B", shell_complete=values.sides)
@section(
    "How to compare",
    option(
        "--margin",
        type=Number(0),
        default=3.0,
        metavar="PERCENT",
        settable="project",
        help="Ignore differences smaller than PERCENT.",
    ),
    option(
        "--alpha",
        type=Number(0.0001, 0.2),
        default=0.025,
        metavar="P",
        settable="project",
        help="Accepted probability of a false alarm.",
    ),
    option(
        "--ignore",
        "keys",
        multiple=True,
        metavar="KEY",
        settable="project",
        help="Allow KEY to differ between the runs; versions; unknown. Repeatable.",
    ),
)
@section(OUTPUT, verbose, several("table", "json", "csv", "markdown", "junit"))
@stored
@kept
def command(a: str, b: str, margin: float, alpha: float, keys: tuple[str, ...], **shown: str | None) -> None:
    """Compare two runs, or a run with a baseline: is B worse than A?

    A and B are runs (id, start of an id, latest, folder, run.json), several separated by commas, output of
    nccl-tests, or baseline:NAME. A difference counts if it exceeds the spread between runs. To measure the
    spread, use at least three interleaved runs per side.
    """
    from nccltool.api import commands
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.compare.views import comparison
    from nccltool.core.documents import this_command

    ready_to_deliver()
    options = commands.CompareOptions(
        margin=margin, alpha=alpha, keys=keys, run_dir=shown["run_dir"], store=shown["store"]
    )
    found = commands.compared(a, b, options, this_command())
    deliver_each(lambda form, look: comparison.render(found, form, look))
    raise SystemExit(found.verdict.exit_code)
