"""nccltool bundle."""

from pathlib import Path

import click

from nccltool.cli.options import kept, option
from nccltool.core.errors import BadInput


@click.command("bundle")
@click.argument("run", nargs=-1, metavar="[RUN...]")
@option("--add-log", multiple=True, type=click.Path(dir_okay=False), help="A log to take along; several times.")
@option(
    "--output",
    type=click.Path(dir_okay=False),
    help="Write the result to a file.  [default: nccltool-bundle-HOST-TIME.tar.gz]",
)
@kept
def command(run: tuple[str, ...], add_log: tuple[str, ...], output: str | None, run_dir: str | None) -> None:
    """One archive for who is to help: facts, findings, runs and logs, with secrets taken out.

    RUN is an id, a folder, or latest (the default, where there is one).
    """
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.interop import bundle

    base = run_directory.base_folder(run_dir)
    folders = (
        tuple(_folder(name, run_directory.find(base, name)) for name in run) or run_directory.folders(base)[-1:]
    )
    for name in add_log:
        if not Path(name).is_file():
            raise BadInput(f"--add-log {name} is not a file", "name a file that can be read")
    file = Path(output or bundle.default_name())
    secrets, missing = bundle.bundle(folders, [Path(name) for name in add_log], this_command(), file)
    for part in missing:
        click.echo(f"not in it: {part.name}: {part.missing}", err=True)
    taken_out = "1 secret was" if secrets == 1 else f"{secrets} secrets were"
    click.echo(f"{taken_out} taken out; read it before it leaves the house", err=True)
    click.echo(file)


def _folder(name: str, path: Path) -> Path:
    """All of it goes into the archive, so it must be a run's."""
    folder = path if path.is_dir() else path.parent
    if not any((folder / part).is_file() for part in ("job.json", "run.json")):
        raise BadInput(f"{name} is not a run", "name a run's id or folder; --add-log FILE takes other files along")
    return folder
