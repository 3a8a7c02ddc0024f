"""nccltool compare."""

from pathlib import Path

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, Number, formats, kept, option, stored, verbose, written
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
        type=click.FloatRange(0.0001, 0.2),
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
@section(OUTPUT, verbose, formats("table", "json", "csv", "markdown", "junit"))
@written
@stored
@kept
def command(a: str, b: str, margin: float, alpha: float, keys: tuple[str, ...], **shown: str | None) -> None:
    """Compare two runs, or a run with a baseline: is B worse than A?

    A and B are runs (id, start of an id, latest, folder, run.json), several separated by commas, output of
    nccl-tests, or baseline:NAME. A difference counts if it exceeds the spread between runs. To measure the
    spread, use at least three interleaved runs per side.
    """
    from nccltool.cli.looks import look_of
    from nccltool.cli.screen import deliver
    from nccltool.compare import baselines, effects, inputs, judge, run_samples
    from nccltool.compare.views import comparison
    from nccltool.core import run_directory
    from nccltool.core.documents import begun_now, this_command

    base = run_directory.base_folder(shown["run_dir"])
    store = Path(shown["store"]) if shown["store"] else baselines.default_file()
    settings = effects.CompareSettings(margin=margin / 100, alpha=alpha, ignore=run_samples.ignored(keys))
    info = begun_now(this_command())
    found = judge.compare(info, inputs.side(a, base, store), inputs.side(b, base, store), settings)
    deliver(comparison.render(found, str(shown["form"]), look_of(shown["output"])), shown["output"])
    raise SystemExit(found.verdict.exit_code)
