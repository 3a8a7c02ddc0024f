"""nccltool import; the underscore because the word is Python's."""

import click

from nccltool.cli.options import kept, option, shown, verbose


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option("--op", help="The operation, where files do not name it (nccl-tests before 2.17).")
@option("--ranks", type=click.IntRange(1), help="How many ranks there were, where files do not list them.")
@option("--keep", is_flag=True, help="Store the runs, so that `nccltool runs` lists them.")
@shown
@verbose
@kept
def command(files: tuple[str, ...], op: str | None, ranks: int | None, keep: bool, **shown: str | None) -> None:
    """Read what nccl-tests or rccl-tests printed (text or JSON) into runs, and judge it.

    FILE is the unchanged output of one or more tests; - is standard input. Files that are cut, and numbers that
    cannot be read, are refused; numbers that do not fit each other are findings.
    """
    from nccltool.cli.screen import deliver, look_of
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.interop import import_results
    from nccltool.probe import views

    found = import_results.read(files, import_results.told(op, ranks), this_command())
    if keep:
        base = run_directory.base_folder(shown["run_dir"])
        for imported in found:
            click.echo(f"kept in {import_results.keep(imported, base)}", err=True)
    runs, output = [imported.run for imported in found], shown["output"]
    deliver(views.joined(runs, str(shown["form"]), look_of(output)), output)
    raise SystemExit(import_results.exit_code(found))
