"""nccltool baseline."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import formats, kept, option, stored, text_or_json, verbose, written
from nccltool.cli.tree import Argument, Group
from nccltool.core.errors import BadInput

if TYPE_CHECKING:
    from nccltool.compare.baselines import Store


_REPLACE = option("--replace", is_flag=True, settable="no", help="Replace an existing baseline.")


@click.group("baseline", cls=Group, short_help="Save, list, and remove baselines")
def command() -> None:
    """Manage baselines: named runs that `nccltool compare` and other commands compare with."""


@command.command("save", cls=ToolCommand, short_help="Save runs as a baseline")
@click.argument("name", shell_complete=values.baselines)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=values.runs)
@option("--add", is_flag=True, settable="no", help="Add the runs to an existing baseline.")
@_REPLACE
@option("--note", default="", metavar="COMMENT", help="Comment to save with the baseline.")
@text_or_json
@stored
@kept
def save(
    name: str, runs: tuple[str, ...], add: bool, replace: bool, note: str, form: str, **where: str | None
) -> None:
    """Save runs as the baseline NAME. RUN is anything that `nccltool compare` accepts; all must be of one kind."""
    from nccltool.cli.outlet import put
    from nccltool.compare import baselines, inputs
    from nccltool.compare.views import baseline
    from nccltool.core import run_directory

    if add and replace:
        raise BadInput("--add and --replace cannot be combined", "omit one of them")
    base = run_directory.base_folder(where["run_dir"])
    samples = [baselines.usable(run) for word in runs for run in inputs.loaded(word, base)]
    mode: baselines.Mode = "add" if add else "replace" if replace else "new"
    put(baseline.saved(_store(where["store"]).save(name, note, samples, mode), form))


@command.command("list", cls=ToolCommand, short_help="List baselines")
@verbose
@formats("table", "json")
@written
@stored
def listed(form: str, output: str | None, store: str | None) -> None:
    """List baselines."""
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver
    from nccltool.compare.views import baseline

    deliver(baseline.render_list(_store(store).all(), form, look_of(output)), output)


@command.command("show", cls=ToolCommand, short_help="Show a baseline")
@click.argument("name", shell_complete=values.baselines)
@verbose
@formats("table", "json")
@written
@stored
def show(name: str, form: str, output: str | None, store: str | None) -> None:
    """Show the runs of the baseline NAME and the values it expects."""
    _show(name, form, output, store)


@command.command("export", cls=ToolCommand, short_help="Write a baseline as JSON")
@click.argument("name", shell_complete=values.baselines)
@written
@stored
def export(name: str, output: str | None, store: str | None) -> None:
    """Write the baseline NAME as JSON, to import it elsewhere."""
    _show(name, "json", output, store)


@command.command("import", cls=ToolCommand, short_help="Import a baseline from JSON")
@click.argument("file", cls=Argument, type=click.Path(dir_okay=False))
@option("--as", "name", metavar="NAME", settable="no", help="Import under another name.")
@_REPLACE
@text_or_json
@stored
def import_(file: str, name: str | None, replace: bool, form: str, store: str | None) -> None:
    """Import a baseline from a file written by `nccltool baseline export`."""
    from dataclasses import replace as changed

    from nccltool.cli.outlet import put
    from nccltool.compare import baselines
    from nccltool.compare.views import baseline
    from nccltool.core import user_files

    found = baselines.from_json(user_files.contents(file), file)
    found = changed(found, name=name or found.name)
    _store(store).put(found, "replace" if replace else "new")
    put(baseline.saved(found, form))


@command.command("remove", cls=ToolCommand, short_help="Remove a baseline")
@click.argument("name", shell_complete=values.baselines)
@text_or_json
@stored
def remove(name: str, form: str, store: str | None) -> None:
    """Remove the baseline NAME. Its runs are kept."""
    from nccltool.cli.outlet import put
    from nccltool.compare.views import baseline

    _store(store).remove(name)
    put(baseline.removed(name, form))


def _store(file: str | None) -> "Store":
    from nccltool.compare import baselines

    return baselines.Store(Path(file) if file else baselines.default_file())


def _show(name: str, form: str, output: str | None, store: str | None) -> None:
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver
    from nccltool.compare import judge
    from nccltool.compare.views import baseline

    found = _store(store).load(name)
    deliver(baseline.render(found, judge.summary(found), form, look_of(output)), output)
