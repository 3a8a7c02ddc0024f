"""nccltool bundle."""

from pathlib import Path

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.options import OUTPUT, kept, option, quiet, text_or_json
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput


@click.command("bundle", cls=ToolCommand, short_help="Create a redacted support bundle")
@click.argument("run", nargs=-1, metavar="[RUN]...", shell_complete=values.runs)
@option("--add-log", multiple=True, type=click.Path(dir_okay=False), help="Include a log file. Repeatable.")
@option(
    "--add-look",
    multiple=True,
    type=click.Path(file_okay=False),
    help="Include a folder that `nccltool attach --save` wrote. Repeatable.",
)
@section(
    OUTPUT,
    option(
        "--output",
        type=click.Path(dir_okay=False),
        help="Write the result to FILE.  [default: nccltool-bundle-HOST-TIME.tar.gz]",
    ),
    text_or_json,
    quiet,
)
@kept
def command(
    run: tuple[str, ...],
    add_log: tuple[str, ...],
    add_look: tuple[str, ...],
    output: str | None,
    form: str,
    quiet: bool,
    run_dir: str | None,
) -> None:
    """Create a redacted support bundle: facts, findings, runs, and logs, without secrets.

    RUN is an id, a folder, or latest (the default if there is a run).
    """
    from nccltool.cli.outlet import put
    from nccltool.core import run_directory, scratch
    from nccltool.core.documents import headed, this_command
    from nccltool.interop import bundle

    base = run_directory.base_folder(run_dir)
    folders = (
        tuple(_folder(name, run_directory.find(base, name)) for name in run) or run_directory.folders(base)[-1:]
    )
    logs, looks = _inputs(add_log, add_look)
    if output == "-" and form == "json":
        raise BadInput("--output - and --format json would both go to standard output", "write --output FILE")
    file, archive = Path(output or bundle.default_name()), None
    if output == "-":
        with scratch.folder() as place:
            file = Path(place, bundle.default_name())
            secrets, missing = bundle.bundle(folders, logs, this_command(), file, looks)
            archive = file.read_bytes()
    else:
        secrets, missing = bundle.bundle(folders, logs, this_command(), file, looks)
    for part in missing:
        say(f"not included: {part.name}: {part.missing}")
    if not quiet:
        removed = "1 secret" if secrets == 1 else f"{secrets} secrets"
        say(f"{removed} removed; review the bundle before sharing it")
    listed = [{"name": part.name, "reason": part.missing} for part in missing]
    of_json = form == "json"
    if archive is not None:
        put(archive)
        return
    put(headed("bundle", file=str(file), secrets_removed=secrets, missing=listed) if of_json else f"{file}\n")


def _inputs(add_log: tuple[str, ...], add_look: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """Logs and folders of looks. Raises BadInput."""
    from nccltool.attach import saved

    for name in add_log:
        if not Path(name).is_file():
            raise BadInput(f"--add-log {name} is not a file", "name a readable file")
    for name in add_look:
        if not Path(name, saved.FILE).is_file():
            raise BadInput(
                f"--add-look {name} has no {saved.FILE}", "name a folder that nccltool attach --save wrote"
            )
    return [Path(name) for name in add_log], [Path(name) for name in add_look]


def _folder(name: str, path: Path) -> Path:
    """All of it goes into the archive, so it must be a run's."""
    folder = path if path.is_dir() else path.parent
    if not any((folder / part).is_file() for part in ("job.json", "run.json")):
        raise BadInput(
            f"{name} is not a run", "name the ID or folder of a run; use --add-log FILE for other files"
        )
    return folder
