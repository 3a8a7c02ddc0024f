"""The command line: one command a file. Importing this imports click and nothing heavy."""

import sys
from importlib import import_module

import click

from nccltool import __version__
from nccltool.core import signals
from nccltool.core.errors import NccltoolError
from nccltool.core.text import escaped_lines

_COMMANDS = (
    *("baseline", "bundle", "checks", "collect", "compare", "doctor", "explain", "export", "facts", "import_"),
    "manifest",
    *("preflight", "probe", "runs", "sbatch", "serve", "slurm_prolog", "train", "triage"),
)
"""Files of this folder that hold a command; a test holds it against the folder."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nccltool")
def cli() -> None:
    """Measure, check and diagnose the collectives of a GPU cluster."""


for _name in _COMMANDS:
    cli.add_command(import_module(f"nccltool.cli.{_name}").command)


def main() -> None:
    """Run, and turn what the user can change into one sentence and an exit code."""
    signals.take(lambda *_: sys.exit(130))  # interrupted is 130 from the first moment on
    try:
        cli(prog_name="nccltool")
    except NccltoolError as error:  # what hosts and gateways said may stand in it
        click.echo("\n".join(escaped_lines(f"Error: {error.message}")), err=True)
        if error.remedy:
            click.echo("\n".join(escaped_lines(f"  -> {error.remedy}")), err=True)
        sys.exit(error.exit_code)
