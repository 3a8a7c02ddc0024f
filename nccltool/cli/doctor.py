"""nccltool doctor."""

from typing import Any

import click

from nccltool.cli.options import CommandEnded, exit_styled, formats, group, launched, option, verbose, written
from nccltool.doctor.views import FORMATS, renderer


@click.command("doctor")
@option("--root", type=click.Path(file_okay=False), help="Read a captured tree (proc, sys, dev, etc) instead.")
@option("--facts", type=click.Path(dir_okay=False), multiple=True, help="Judge a snapshot of `nccltool facts`.")
@option("--env-file", type=click.Path(dir_okay=False), help="Take the variables from a file: `env`, docker.")
@option("--pid", type=click.IntRange(1), help="Take the variables that a running process was started with.")
@option("--nccl-version", help="The NCCL of the job.  [default: the one that is found]")
@option("--nodes", type=click.IntRange(1, 10**6), help="Nodes.  [default: as the launcher says]")
@option("--nproc-per-node", help="Ranks on a node, or auto: one per GPU.  [default: auto]")
@launched
@option("--select", multiple=True, help="Only rules whose code or name begins so; commas, or several times.")
@option("--ignore", multiple=True, help="Not the rules whose code or name begins so.")
@option("--fix", is_flag=True, help="Print lines for a shell that undo what was found; nothing is changed.")
@option("--show-settings", is_flag=True, help="Show every variable and where it comes from, too.")
@option(
    "--ask-nccl",
    is_flag=False,
    flag_value="auto",
    help="Hold the answer against a libnccl: PATH, or the found one.",
)
@option("--list-rules", is_flag=True, help="List the rules.")
@option("--list-variables", is_flag=True, help="List the variables that are known.")
@verbose
@formats(*FORMATS)
@exit_styled
@written
def command(**options: Any) -> None:
    """Judge the settings of NCCL, and the host that they meet.

    Exit code 1 when there is an error, 4 when nothing could be judged. `nccltool explain CODE` has the page of a
    rule.
    """
    from nccltool.cli.screen import deliver, look_of, put
    from nccltool.core.documents import this_command
    from nccltool.doctor import options as doctor_options
    from nccltool.doctor import run
    from nccltool.doctor.options import DoctorOptions
    from nccltool.launch.options import StartOptions

    if options["list_rules"] or options["list_variables"]:
        put(_lists(rules=options["list_rules"], variables=options["list_variables"]))
        return
    order = doctor_options.order(group(DoctorOptions, options), group(StartOptions, options))
    diagnosis = run.diagnose(order, this_command())
    if options["fix"]:
        put("".join(f"{line}\n" for line in diagnosis.fixes))
    else:
        look = look_of(options["output"])
        deliver(renderer(options["form"], look, options["show_settings"])(diagnosis), options["output"])
    raise CommandEnded(diagnosis.verdict.status, diagnosis.verdict.exit_code)


def _lists(rules: bool, variables: bool) -> str:
    from nccltool.doctor import pages
    from nccltool.doctor.rules import every
    from nccltool.hosts.nccl import variables as nccl_variables

    texts = [pages.rules([rule.page for rule in every()])] if rules else []
    return "\n".join([*texts, pages.variables(nccl_variables.every().values())] if variables else texts)
