"""nccltool compare."""

from pathlib import Path

import click

from nccltool.cli.options import Number, formats, kept, option, stored, verbose, written


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@option("--margin", type=Number(0), default=3.0, help="Percent; smaller differences do not matter.")
@option("--alpha", type=click.FloatRange(0.0001, 0.2), default=0.025, help="Chance that equals are told apart.")
@option("--ignore", "keys", multiple=True, metavar="KEY", help="A key that may differ; versions; unknown.")
@verbose
@formats("table", "json", "csv", "markdown")
@written
@stored
@kept
def command(a: str, b: str, margin: float, alpha: float, keys: tuple[str, ...], **shown: str | None) -> None:
    """Is B worse than A? Differences count when they are larger than the spread between runs.

    A and B are runs (id, beginning of an id, latest, folder, run.json), several with commas between them, output
    of nccl-tests, or baseline:NAME. Three runs against three, in turns, are the least that measures the spread.
    """
    from nccltool.cli.screen import deliver, look_of
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
