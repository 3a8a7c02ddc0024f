"""nccltool doctor."""

from typing import Any

import click

from nccltool.cli import values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import (
    NODES,
    NPROC,
    OUTPUT,
    WHERE,
    CommandEnded,
    exit_styled,
    given,
    group,
    launched,
    option,
    verbose,
)
from nccltool.cli.tree import section
from nccltool.doctor.views import FORMATS, renderer

_RULES = "Only rules whose code or name starts with this. Repeatable."


@click.command("doctor", cls=ToolCommand, short_help="Check NCCL settings against this host")
@section(
    "What to check",
    option(
        "--root",
        type=click.Path(file_okay=False),
        help="Read a captured file tree (proc, sys, dev, etc) instead of this host.",
    ),
    option(
        "--facts",
        type=click.Path(dir_okay=False),
        multiple=True,
        help="Check a snapshot from `nccltool facts`. Repeatable.",
    ),
    option(
        "--env-file",
        type=click.Path(dir_okay=False),
        multiple=True,
        help="Check variables in FILE; the host only with --root. Repeatable: later files win. -: standard input.",
    ),
    option(
        "--pid",
        type=click.IntRange(1),
        metavar="PID",
        help="Read the variables that a running process was started with.",
    ),
    option(
        "--nccl-version",
        metavar="VERSION",
        settable="project",
        help="NCCL version of the job.  [default: the installed one]",
    ),
    option(
        "--select",
        multiple=True,
        metavar="PREFIX,...",
        settable="project",
        help=_RULES,
        shell_complete=values.rules,
    ),
    option(
        "--ignore",
        multiple=True,
        metavar="PREFIX,...",
        settable="project",
        help="Skip these rules. Repeatable.",
        shell_complete=values.rules,
    ),
    option(
        "--ask-nccl",
        is_flag=False,
        flag_value="auto",
        metavar="PATH",
        help="Compare with what the installed libnccl, or the one at PATH, reports.",
    ),
)
@section(
    WHERE,
    NODES,
    NPROC,
    launched,
)
@section(
    OUTPUT,
    option(
        "--fix",
        is_flag=True,
        help="Print commands and edits that fix errors and warnings without causing new findings; change nothing.",
    ),
    option(
        "--show-settings", is_flag=True, settable="project", help="Also list every variable and where it is set."
    ),
    option("--list-rules", is_flag=True, help="List the rules and exit."),
    option("--list-variables", is_flag=True, help="List the known variables and exit."),
    verbose,
    several(*FORMATS),
)
@exit_styled
def command(**options: Any) -> None:
    """Check NCCL settings against this host, or against every host of a job.

    Exit code 1: a rule of severity error failed; 4: nothing could be checked. `nccltool explain CODE` explains a
    rule.
    """
    from nccltool.api import commands
    from nccltool.cli.outlet import deliver, deliver_each, put, ready_to_deliver
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.doctor.options import DoctorOptions
    from nccltool.launch.options import StartOptions

    if options["list_rules"] or options["list_variables"]:
        put(_lists(rules=options["list_rules"], variables=options["list_variables"]))
        return
    if options["fix"]:
        typed = given(click.get_current_context(), ("form", "show_settings"))
        shown = {"form": f"--format {options['form']}", "show_settings": "--show-settings"}
        for name in sorted(typed):
            raise BadInput(f"--fix prints lines for a shell and cannot be combined with {shown[name]}", "omit one")
    ready_to_deliver()
    diagnosis = commands.diagnosed(group(DoctorOptions, options), group(StartOptions, options), this_command())
    if options["fix"]:
        deliver("".join(f"{line}\n" for line in diagnosis.fixes), options["output"])
    else:
        deliver_each(lambda form, look: renderer(form, look, options["show_settings"])(diagnosis))
    raise CommandEnded(diagnosis.verdict.status, diagnosis.verdict.exit_code)


def _lists(rules: bool, variables: bool) -> str:
    from nccltool.doctor import pages
    from nccltool.doctor.rules import every
    from nccltool.hosts.nccl import variables as nccl_variables

    texts = [pages.rules([rule.page for rule in every()])] if rules else []
    return "\n".join([*texts, pages.variables(nccl_variables.every().values())] if variables else texts)
