"""nccltool runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, group, kept, only_typed, option, plot, quiet, text_or_json, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import DefaultGroup, section
from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.probe.views import FORMATS

if TYPE_CHECKING:
    from nccltool.core.look import Look
    from nccltool.monitor.run_list import Entry

_STATUSES = ("pass", "warn", "fail", "incomplete", "unknown")
_FILTERS = ("limit", "kind", "status", "since")


@click.command("runs", cls=ToolCommand, short_help="List, show, and remove saved runs")
@click.argument("run", required=False, shell_complete=values.runs)
@section(
    "Which runs to list",
    option("--limit", type=click.IntRange(1), help="Only the newest N runs."),
    option(
        "--kind",
        multiple=True,
        metavar="KIND,...",
        help="Only runs of these commands: probe, train, preflight. Repeatable.",
        shell_complete=values.kinds,
    ),
    option("--status", multiple=True, type=click.Choice(_STATUSES), help="Only this status. Repeatable."),
    option("--since", metavar="TIME", help="Only runs from the last 12h or 30d or since a date (2026-01-31)."),
)
@section(OUTPUT, verbose)
@several(*FORMATS)
@plot
@kept
def _list(run: str | None, plot: str | None, run_dir: str | None, **filters: object) -> None:
    """List saved runs, or show RUN again: an id, the start of an id, latest, a folder, or a run.json.

    `nccltool runs rm RUN...` removes runs.
    """
    from nccltool.cli.outlet import deliver_each
    from nccltool.cli.screen import draw, ready_to_draw, text_of
    from nccltool.core import run_directory
    from nccltool.monitor import run_filter, run_list

    base = run_directory.base_folder(run_dir)
    if run is not None:
        given = next((name for name in _FILTERS if filters[name]), None)
        if given:
            raise BadInput(f"--{given} filters the list of runs", "leave out RUN")
        ready_to_draw(plot)
        loaded = run_list.load(run_directory.find(base, run))
        deliver_each(lambda form, look: text_of(loaded, form, look))
        draw(loaded, plot)
    elif plot:
        raise BadInput("--plot draws one run", "name it: nccltool runs RUN --plot FILE.svg")
    else:
        listed = group(run_filter.RunFilter, filters).chosen(run_list.entries(base))
        deliver_each(lambda form, look: _listed(listed, form, look))


def _listed(entries: "Sequence[Entry]", form: str, look: "Look") -> str:
    from nccltool.monitor import run_list

    if form not in run_list.FORMATS:
        remedy = f"choose from {', '.join(run_list.FORMATS)}"
        raise BadInput(f"--format {form} shows one run, not a list of runs", remedy)
    return run_list.render(entries, form, look)


@click.command("rm", cls=ToolCommand, short_help="Remove runs")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=values.runs)
@section(
    "Which runs to remove",
    only_typed("--older-than", metavar="TIME", help="Runs that started more than TIME ago: 12h, 30d."),
    only_typed("--keep", type=click.IntRange(0), metavar="N", help="All but the newest N runs."),
)
@section(
    OUTPUT,
    only_typed("--dry-run", is_flag=True, help="List what would be removed; remove nothing."),
    text_or_json,
    quiet,
)
@kept
def _remove(
    runs: tuple[str, ...],
    older_than: str | None,
    keep: int | None,
    dry_run: bool,
    form: str,
    quiet: bool,
    run_dir: str | None,
) -> None:
    """Remove the runs named by id, start of an id or latest, or those that the options select.

    With both options, a run must be older than TIME and not among the newest N. Runs in progress are never
    removed; exit code 1: a run was not removed. Baselines keep their own copy of what they need.
    """
    from nccltool.cli.outlet import put
    from nccltool.core import removal, run_directory

    base = run_directory.base_folder(run_dir)
    if bool(runs) == (older_than is not None or keep is not None):
        raise BadInput("name the runs to remove or use --older-than or --keep", "see nccltool runs")
    chosen = removal.named(base, runs) if runs else removal.prunable(base, older_than, keep)
    reasons: dict[str, str] = {}
    for folder in chosen:
        reasons[folder.name] = reason = removal.why_not(folder) if dry_run else removal.remove(folder)
        if reason:
            say(escaped(f"not removed: {folder.name}: {reason}"))
        elif not quiet and form != "json":
            put(f"{escaped(folder.name)}\n")
    if form == "json":
        put(removal.to_json(reasons, dry_run))
    raise SystemExit(1 if any(reasons.values()) else 0)


command = DefaultGroup(_list, _remove)
