"""nccltool sbatch."""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.commands import preflight, probe
from nccltool.cli.options import group, option, refuse, words_of
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput

if TYPE_CHECKING:
    from nccltool.interop.batch_script import BatchWork

_ELSEWHERE = ("node_rank", "hosts", "hostfile", "ssh", "remote_env", "keep_going")
"""Options of the command that say where its nodes are and how to reach them."""
_SLOWER = 3
"""A suite says how long it takes on healthy nodes; with an unhealthy one it waits for time-outs too."""
_COUNT = click.IntRange(1, 10**6)


@click.command(
    "sbatch",
    cls=ToolCommand,
    short_help="Print a Slurm batch script that runs probe or preflight",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="probe|preflight [OPTIONS]...")
@section(
    "Job",
    option("--job-name", default="nccltool", metavar="NAME", help="Job name."),
    option("--account", metavar="NAME", help="Account to charge."),
    option("--qos", metavar="NAME", help="Quality of service."),
    option(
        "--time",
        metavar="TIME",
        help="30 (minutes), 1:30:00, 2-12 (days-hours).  [default: --deadline or --budget, + 10 min]",
    ),
    option("--log", default="nccltool-%j.out", metavar="FILE", help="Job output; %j is the job number."),
)
@section(
    "Nodes",
    option("--partition", metavar="NAME", help="Slurm partition."),
    option("--reservation", metavar="NAME", help="Reservation to use."),
    option("--constraint", metavar="FEATURES", help="Required node features."),
    option("--nodelist", metavar="HOSTS", help="Nodes that must be included: n[01-04]."),
    option("--exclude", metavar="HOSTS", help="Nodes to avoid."),
    option("--gpus-per-node", metavar="GPUS", help="GPUs per node: 8, h100:8."),
    option("--cpus-per-task", type=_COUNT, help="CPUs per node, for shared nodes."),
    option("--mem", metavar="SIZE", help="Memory per node: 64G.  [default: all, unless --shared]"),
    option("--shared", is_flag=True, help="Do not request whole nodes."),
    option("--sbatch-option", multiple=True, metavar="NAME[=VALUE]", help="Any other sbatch option. Repeatable."),
)
@section(
    "Commands in the job",
    option(
        "--setup", multiple=True, metavar="LINE", help="Shell line to run first: module load cuda. Repeatable."
    ),
    option(
        "--command", metavar="COMMAND", help="How to start nccltool there.  [default: this one, with its Python]"
    ),
)
def command(words: tuple[str, ...], command: str | None, **options: Any) -> None:
    """Print a batch script for Slurm that runs `nccltool probe` or `nccltool preflight`.

    Options after the command are passed to it. Submit the script with sbatch; in the allocation, the command
    starts its nodes with srun.
    """
    from nccltool.cli.outlet import put
    from nccltool.interop import batch_script

    if words[0] not in _COMMANDS:
        remedy = f"nccltool sbatch [OPTIONS] {'|'.join(_COMMANDS)} [ITS OPTIONS]"
        raise BadInput(f"sbatch cannot run {words[0]!r}", remedy)
    work = _COMMANDS[words[0]](words[1:])
    start = _words(command) if command is not None else (sys.executable, "-P", "-m", "nccltool")
    batch = group(batch_script.BatchOptions, options, command=start)
    put(batch_script.script(words, work, batch))


def _probe(words: tuple[str, ...]) -> "BatchWork":
    from nccltool.interop import batch_script

    its_options, given = words_of(probe.command, "sbatch probe", words)  # as the script will read them
    _refuse_other_nodes(its_options, given)
    return batch_script.of_probe(probe.asked(its_options), given)


def _preflight(words: tuple[str, ...]) -> "BatchWork":
    from nccltool.interop.batch_script import BatchWork
    from nccltool.launch.launchers import slurm
    from nccltool.launch.options import StartOptions
    from nccltool.preflight.options import PreflightOptions, from_options

    its_options, given = words_of(preflight.command, "sbatch preflight", words)
    _refuse_other_nodes(its_options, given)
    start, allocation = slurm.stand_in(group(StartOptions, its_options, fault=""))
    order = from_options(group(PreflightOptions, its_options, start=start), allocation)
    budget_s = order.budget_s
    return BatchWork(
        nodes=order.where.nodes or 1,
        needs_s=_SLOWER * order.suite.about_s if budget_s is None else budget_s,
        ends_s=math.inf if budget_s is None else budget_s,
        option="--budget",
        unit="s",
        is_given=budget_s is not None,
    )


_COMMANDS = {"probe": _probe, "preflight": _preflight}


def _refuse_other_nodes(its_options: Mapping[str, Any], given: frozenset[str]) -> None:
    refuse(given, _ELSEWHERE, "in a batch script", "omit it: srun starts the nodes")
    if (launcher := its_options["launcher"]) not in ("auto", "slurm"):
        raise BadInput(
            f"--launcher {launcher} has no meaning in a batch script", "omit it or use --launcher slurm"
        )


def _words(text: str) -> tuple[str, ...]:
    import shlex

    try:
        return tuple(shlex.split(text)) or ("nccltool",)
    except ValueError as error:
        raise BadInput(
            f"--command {text[:60]!r}: {error}", "for example --command /opt/venv/bin/nccltool"
        ) from error
