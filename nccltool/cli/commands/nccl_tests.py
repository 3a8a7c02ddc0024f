"""nccltool nccl-tests."""

import shlex

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.commands import probe
from nccltool.cli.options import words_of
from nccltool.cli.streams import say


@click.command(
    "nccl-tests",
    cls=ToolCommand,
    short_help="Translate a command of nccl-tests into probe",
    context_settings={"allow_interspersed_args": False},
)
@click.argument(
    "words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[LAUNCHER]... PROGRAM [OPTIONS]..."
)
def command(words: tuple[str, ...]) -> None:
    """Print the probe command that does the same as a command of nccl-tests, and what differs.

    For example: nccltool nccl-tests mpirun -np 16 ./all_reduce_perf -b 8 -e 8G -f 2 -g 1
    """
    from nccltool.cli.outlet import put
    from nccltool.core.text import escaped
    from nccltool.interop import nccl_tests_command
    from nccltool.probe import options as probe_options

    found = nccl_tests_command.translate(words)
    # as on a host with GPUs, which this one need not be
    anywhere = (*(word for word in found.options if word != nccl_tests_command.CUDA_GRAPH), "--backend", "nccl")
    its_options, _ = words_of(probe.command, "nccl-tests probe", anywhere)
    probe_options.from_options(probe.asked(its_options), {})
    put(shlex.join(found.words) + "\n")
    for difference in found.differences:
        say(escaped(f"differs: {difference}"))
