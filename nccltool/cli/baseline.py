"""nccltool baseline."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nccltool.cli.options import formats, kept, option, stored, written
from nccltool.core.errors import BadInput

if TYPE_CHECKING:
    from nccltool.compare.baselines import Store


@click.group("baseline")
def command() -> None:
    """Runs under a name, which `nccltool compare` and others are held against."""


@command.command("save")
@click.argument("name")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@option("--add", is_flag=True, help="Add the runs to those that the baseline has.")
@option("--replace", is_flag=True, help="Put them in the place of what is there.")
@option("--note", default="", help="What is worth knowing about it.")
@stored
@kept
def save(name: str, runs: tuple[str, ...], add: bool, replace: bool, note: str, **where: str | None) -> None:
    """Keep runs as the baseline NAME. RUN is what `nccltool compare` takes; all must be of one kind."""
    from nccltool.cli.screen import put
    from nccltool.compare import baselines, inputs
    from nccltool.compare.views import baseline
    from nccltool.core import run_directory

    if add and replace:
        raise BadInput("--add and --replace exclude each other", "leave one out")
    base = run_directory.base_folder(where["run_dir"])
    samples = [baselines.usable(run) for word in runs for run in inputs.loaded(word, base)]
    mode: baselines.Mode = "add" if add else "replace" if replace else "new"
    put(baseline.saved(_store(where["store"]).save(name, note, samples, mode)))


@command.command("list")
@formats("table", "json")
@written
@stored
def listed(form: str, output: str | None, store: str | None) -> None:
    """The baselines there are."""
    from nccltool.cli.screen import deliver, look_of
    from nccltool.compare.views import baseline

    deliver(baseline.render_list(_store(store).all(), form, look_of(output)), output)


@command.command("show")
@click.argument("name")
@formats("table", "json")
@written
@stored
def show(name: str, form: str, output: str | None, store: str | None) -> None:
    """What the baseline NAME is made of, and what it expects."""
    _show(name, form, output, store)


@command.command("export")
@click.argument("name")
@written
@stored
def export(name: str, output: str | None, store: str | None) -> None:
    """Write the baseline NAME as JSON, for another store."""
    _show(name, "json", output, store)


@command.command("import")
@click.argument("file", type=click.Path(dir_okay=False))
@option("--as", "name", help="Another name for it.")
@option("--replace", is_flag=True, help="Put them in the place of what is there.")
@stored
def import_(file: str, name: str | None, replace: bool, store: str | None) -> None:
    """Take a baseline from a file that `export` wrote."""
    from dataclasses import replace as changed

    from nccltool.cli.screen import put
    from nccltool.compare import baselines
    from nccltool.compare.views import baseline

    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}", "check the name") from error
    found = baselines.from_json(text, file)
    found = changed(found, name=name or found.name)
    _store(store).put(found, "replace" if replace else "new")
    put(baseline.saved(found))


@command.command("remove")
@click.argument("name")
@stored
def remove(name: str, store: str | None) -> None:
    """Forget the baseline NAME. Its runs stay where they are."""
    _store(store).remove(name)


def _store(file: str | None) -> "Store":
    from nccltool.compare import baselines

    return baselines.Store(Path(file) if file else baselines.default_file())


def _show(name: str, form: str, output: str | None, store: str | None) -> None:
    from nccltool.cli.screen import deliver, look_of
    from nccltool.compare import judge
    from nccltool.compare.views import baseline

    found = _store(store).load(name)
    deliver(baseline.render(found, judge.summary(found), form, look_of(output)), output)
