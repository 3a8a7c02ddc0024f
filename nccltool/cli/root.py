"""All commands, one a file. Importing this imports click and nothing heavy."""

import errno
import sys
from importlib import import_module

import click

from nccltool import __version__
from nccltool.cli.streams import nobody_reads, say
from nccltool.cli.tree import Group
from nccltool.core import plugins
from nccltool.core.errors import NccltoolError
from nccltool.core.text import escaped, escaped_lines, shortened

SECTIONS = {
    "Measure and check": {
        "probe": "Measure bandwidth and latency of collectives",
        "pairs": "Find the slow node, link, or direction by measuring pairs",
        "train": "Run small training jobs and check them against a reference",
        "preflight": "Check a cluster before jobs run on it",
        "doctor": "Check NCCL settings against this host",
        "env": "Print the NCCL settings that a fabric needs",
        "checks": "List, show, copy, and validate preflight suites",
        "rendezvous": "Try the ways in which ranks of a script meet",
        "plan": "Plan memory, communication, and time of a training run",
        "nccl-tests": "Translate a command of nccl-tests into probe",
    },
    "Find the cause": {
        "attach": "Show what a running job does, and which rank holds it up",
        "trace": "Show where training steps lose time, from profiler traces",
        "triage": "Find the root cause of a failed job in its logs",
        "localize": "Name slow nodes, rails, and links from results of pairs",
        "explain": "Explain any word that nccltool prints",
        "facts": "Show this host's network, GPUs, limits, and versions",
        "bundle": "Create a redacted support bundle",
        "mcp": "Answer assistants over the Model Context Protocol",
    },
    "Work with results": {
        "runs": "List, show, and remove saved runs",
        "report": "Write a report of runs: one HTML file, or Markdown",
        "compare": "Compare two runs, or a run with a baseline",
        "baseline": "Save, list, and remove baselines",
        "history": "Show how hosts, checks, and speeds were in earlier runs",
        "import": "Import results of nccl-tests and other benchmarks",
        "collect": "Merge the logs of several hosts into one run",
    },
    "Monitor": {
        "export": "Export run metrics to Prometheus",
        "serve": "Serve run metrics to Prometheus over HTTP",
    },
    "Submit to a scheduler": {
        "sbatch": "Print a Slurm batch script that runs probe or preflight",
        "manifest": "Print Kubernetes objects that run probe or preflight",
        "slurm-prolog": "Check this node in a Slurm prolog or health check",
    },
    "About nccltool": {
        "help": "Show the help of a command",
        "plugins": "List the plug-ins of other packages",
        "schema": "Print the JSON Schema of a document",
        "version": "Show the version of nccltool, Python, and torch",
        "completion": "Print a completion script for a shell",
    },
}
"""What each command does, as the help groups them: a test holds it against the commands and the folder."""
_FILES = {"import": "import_", "nccl-tests": "nccl_tests", "slurm-prolog": "slurm_prolog"}


class _Root(Group):
    """All commands, in sections; the module of one is imported when it is called, or when all are looked at."""

    _loaded: dict[str, click.Command]

    @property  # type: ignore[override]
    def commands(self) -> dict[str, click.Command]:
        return {name: self._command(name) for name in self.list_commands(None)}

    @commands.setter
    def commands(self, commands: dict[str, click.Command]) -> None:
        self._loaded = commands

    def _command(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = import_module(f"nccltool.cli.commands.{_FILES.get(name, name)}").command
        return self._loaded[name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._command(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        return [name for names in SECTIONS.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each, never cut."""
        width = max(map(len, self.list_commands(ctx)))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in commands.items()])


@click.group(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="nccltool", message="%(prog)s %(version)s")
@click.option("--no-config", is_flag=True, envvar="NCCLTOOL_NO_CONFIG", help="Ignore configuration files.")
def cli(no_config: bool) -> None:
    """Measure, check, and diagnose collective communication on GPU clusters."""


def _named(command: click.Command) -> None:
    """Run a command; a plug-in in which something went wrong is named at the end, whatever came of the command."""
    try:
        command(prog_name="nccltool")
    finally:
        for failure in plugins.failures():
            say(f"WARNING {escaped(failure.plugin.title)} is not used: {escaped(failure.reason)}")


def run() -> None:
    """Run, and turn what the user can change into one sentence and an exit code."""
    try:
        _named(cli)
    except SystemExit:
        if "PacifyFlushWrapper" in type(sys.stdout).__name__:  # click put it there: nobody reads the help on
            sys.exit(0)
        raise
    except BrokenPipeError:  # nobody reads what is wrong with the usage
        nobody_reads(sys.stderr)
        sys.exit(2)
    except OSError as error:  # pathlib asks the system about any word, and passes this answer on
        if error.errno != errno.ENAMETOOLONG:
            raise
        say(f"Error: {escaped(shortened(str(error.filename), 60))} is too long for a path\n  -> check the option")
        sys.exit(2)
    except NccltoolError as error:  # what hosts and gateways said may stand in it
        say("\n".join(escaped_lines(f"Error: {error.message}")))
        if error.remedy:
            say("\n".join(escaped_lines(f"  -> {error.remedy}")))
        sys.exit(error.exit_code)
