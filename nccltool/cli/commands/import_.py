"""nccltool import; the underscore because the word is Python's."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import OUTPUT, CommandEnded, exit_styled, kept, option, quiet, verbose
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput
from nccltool.probe.views import FORMATS

if TYPE_CHECKING:
    from nccltool.core.look import Look
    from nccltool.preflight.result import Preflight
    from nccltool.probe.result import Run


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

    FILE is the unchanged output of one or more tests, or an HTML report of nccltool; - is standard input. Files
    that are not recognized are refused; missing rows and numbers that contradict each other become findings.
    """
    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.core import run_directory, verdicts
    from nccltool.core.documents import this_command
    from nccltool.interop import import_results
    from nccltool.report import inside

    ready_to_deliver()
    is_report = inside.are_reports(files)
    others = [name for name, is_one in zip(files, is_report, strict=True) if not is_one]
    reports = [name for name, is_one in zip(files, is_report, strict=True) if is_one]
    found = import_results.read(others, import_results.told(op, ranks), this_command())
    reported = [one for name in reports for one in inside.runs(name)]
    if keep:
        base = run_directory.base_folder(shown["run_dir"])
        folders = [import_results.keep(imported, base) for imported in found]
        folders += [inside.keep(one, base) for one in reported]
        for folder in folders:
            if not shown["quiet"]:
                say(f"saved to {folder}")
    runs = [*(imported.run for imported in found), *(one.run for one in reported)]
    deliver_each(lambda form, look: _joined(runs, form, look))
    worst = verdicts.worst(run.verdict for run in runs)
    raise CommandEnded(worst.status, worst.exit_code)


def _joined(runs: "Sequence[Run | Preflight]", form: str, look: "Look") -> str:
    """Several runs in one text; of those that measured no operations, several only for people."""
    from nccltool.cli.screen import text_of
    from nccltool.probe import views
    from nccltool.probe.result import Run

    plain = [run for run in runs if isinstance(run, Run) and run.kind == "probe"]
    if len(plain) == len(runs):
        return views.joined(plain, form, look)
    if len(runs) > 1 and form != "table":
        raise BadInput(f"--format {form} cannot show runs of several kinds", "use --format table, or --keep")
    return "\n".join(text_of(run, form, look) for run in runs)
