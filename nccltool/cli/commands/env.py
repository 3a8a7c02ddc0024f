"""nccltool env."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.commands import probe
from nccltool.cli.options import OUTPUT, Number, option, words_of, written
from nccltool.cli.tree import Argument, section
from nccltool.core.text import shortened
from nccltool.doctor.fabric_views import FORMATS

_LONGEST = 80
"""Characters of a word that are shown."""

if TYPE_CHECKING:
    from nccltool.doctor.fabric_choice import ChosenFabric


@click.command(
    "env",
    cls=ToolCommand,
    short_help="Print the NCCL settings that a fabric needs",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("fabric", cls=Argument, metavar="FABRIC|auto", shell_complete=values.fabrics)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PROBE OPTIONS]...")
@option(
    "--root",
    type=click.Path(file_okay=False),
    help="Read a captured file tree (proc, sys, dev, etc) instead of this host.",
)
@section(
    "Proof",
    option("--prove", is_flag=True, help="Run probe without and with the settings, and compare."),
    option("--run-deadline", type=Number(1), default=600.0, metavar="SECONDS", help="End each run after SECONDS."),
)
@section(
    OUTPUT,
    option(
        "--format",
        "written_as",
        type=click.Choice(FORMATS),
        default="shell",
        settable="project",
        help="Form of the settings.",
    ),
)
@written
def command(
    fabric: str,
    words: tuple[str, ...],
    root: str | None,
    prove: bool,
    run_deadline: float,
    written_as: str,
    output: str | None,
) -> None:
    """Print the settings that FABRIC needs, each with its reason and source; auto reads this host.

    With --prove, probe runs three times without and three times with them, in turns. PROBE OPTIONS are its own.
    """
    from nccltool.cli.outlet import deliver
    from nccltool.core.errors import BadInput
    from nccltool.doctor import fabric_choice, fabric_views
    from nccltool.hosts import reader

    _check_order(fabric, words, prove)
    if root is not None and not any((Path(root) / name).is_dir() for name in ("proc", "sys")):
        raise BadInput(
            f"--root {root} contains neither proc nor sys",
            "pass the directory that contains the captured proc and sys",
        )
    chosen = fabric_choice.choose(fabric, lambda: reader.take(Path(root or "/")))
    if prove:
        _check(chosen, words)
    deliver(fabric_views.renderer(written_as)(chosen), output)
    if prove:
        _prove(chosen, words, run_deadline)


def _check_order(fabric: str, words: tuple[str, ...], prove: bool) -> None:
    """Our options stand before the fabric, those of probe behind it. Raises BadInput."""
    from nccltool.core.errors import BadInput

    own, its = (_names(one.params) for one in (click.get_current_context().command, probe.command))
    for word in words:
        name = word.partition("=")[0]
        if name in own and (name not in its or not prove):
            raise BadInput(f"{name} must stand before the fabric", f"nccltool env {name} ... {fabric}")
    if words and not prove:
        name = words[0].partition("=")[0]
        if name in its:
            remedy = f"nccltool env --prove {fabric} {words[0]} ..."
            raise BadInput(f"{name} is an option of probe, which runs only with --prove", remedy)
        what = "unknown option" if name.startswith("-") else "unexpected argument"
        raise BadInput(f"{what} {shortened(name, _LONGEST)!r}", "nccltool env --help")


def _names(parameters: Iterable[click.Parameter]) -> set[str]:
    return {name for one in parameters if isinstance(one, click.Option) for name in one.opts}


def _check(chosen: "ChosenFabric", words: tuple[str, ...]) -> None:
    """Bad input is told before anything is printed or started. Raises BadInput."""
    from nccltool.core.errors import BadInput
    from nccltool.probe import options as probe_options

    if not chosen.fabric.settings:
        raise BadInput(f"{chosen.name} needs no settings, so --prove has nothing to compare", "omit --prove")
    its_options, _ = words_of(probe.command, "env --prove", words)
    if its_options["backend"] == "gloo":
        raise BadInput(
            "--backend gloo has no meaning with --prove: Gloo reads no setting of NCCL",
            "omit it, on hosts with GPUs",
        )
    probe_options.from_options(probe.asked(its_options))


def _prove(chosen: "ChosenFabric", words: tuple[str, ...], deadline_s: float) -> None:
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver
    from nccltool.compare.views import comparison
    from nccltool.core.documents import this_command
    from nccltool.preflight import settings_proof

    with tempfile.TemporaryDirectory(prefix="nccltool-env-") as folder:
        order = settings_proof.ProofOrder(
            settings=chosen.fabric.settings, words=words, deadline_s=deadline_s, folder=Path(folder)
        )
        found = settings_proof.prove(order, this_command())
    deliver(comparison.render(found, "table", look_of(None)), None)
    raise SystemExit(found.verdict.exit_code)
