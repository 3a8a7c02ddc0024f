"""The command line: one command a file. Importing this imports click and nothing heavy."""

import sys
from collections.abc import Iterator
from importlib import import_module

import click

from nccltool import __version__
from nccltool.cli.streams import nobody_reads, say
from nccltool.cli.tree import Group
from nccltool.core import signals
from nccltool.core.errors import NccltoolError
from nccltool.core.text import escaped_lines

_SECTIONS = {
    "Measure and check": ("probe", "train", "preflight", "doctor", "checks"),
    "Find the cause": ("triage", "explain", "facts", "bundle"),
    "Work with results": ("runs", "compare", "baseline", "import_", "collect"),
    "Monitor": ("export", "serve"),
    "Submit to a scheduler": ("sbatch", "manifest", "slurm_prolog"),
    "About nccltool": ("help", "version", "completion"),
}
"""Files of this folder that hold a command, as the help groups them; a test holds it against the folder."""


class _Root(Group):
    """All commands, in sections."""

    sections: dict[str, list[click.Command]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each, never cut."""
        width = max(map(len, self.commands))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{one.name:{width}}", str(one.short_help)) for one in commands])


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="nccltool", message="%(prog)s %(version)s")
@click.option("--no-config", is_flag=True, envvar="NCCLTOOL_NO_CONFIG", help="Ignore configuration files.")
def cli(no_config: bool) -> None:
    """Measure, check and diagnose collective communication on GPU clusters."""


def _commands(names: tuple[str, ...]) -> Iterator[click.Command]:
    for name in names:
        yield import_module(f"nccltool.cli.{name}").command


cli.sections = {title: list(_commands(names)) for title, names in _SECTIONS.items()}
for _section in cli.sections.values():
    for _command in _section:
        cli.add_command(_command)


def main() -> None:
    """Run, and turn what the user can change into one sentence and an exit code."""
    signals.take(lambda *_: sys.exit(130))  # interrupted is 130 from the first moment on
    try:
        cli(prog_name="nccltool")
    except SystemExit:
        if "PacifyFlushWrapper" in type(sys.stdout).__name__:  # click put it there: nobody reads the help on
            sys.exit(0)
        raise
    except BrokenPipeError:  # nobody reads what is wrong with the usage
        nobody_reads(sys.stderr)
        sys.exit(2)
    except NccltoolError as error:  # what hosts and gateways said may stand in it
        say("\n".join(escaped_lines(f"Error: {error.message}")))
        if error.remedy:
            say("\n".join(escaped_lines(f"  -> {error.remedy}")))
        sys.exit(error.exit_code)
