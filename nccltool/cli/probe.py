"""nccltool probe."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli.options import Number, exit_styled, group, injected_fault, kept, option, shown, started, verbose

if TYPE_CHECKING:
    from nccltool.probe.options import ProbeOptions

_COUNT = click.IntRange(1, 10**6)
_COUNT_OR_NONE = click.IntRange(0, 10**6)
_CADENCES = click.Choice(("stream", "isolated"))
_PLACEMENTS = click.Choice(("natural", "in-place", "out-of-place", "both"))


@click.command("probe")
@option("--op", "ops", default="all", help="Operations, comma-separated, or all.")
@option("-b", "--min-bytes", help="Smallest size: 8, 64K, 1MiB (binary).  [default: 1KiB]")
@option("-e", "--max-bytes", help="Largest size.  [default: 16MiB on Gloo, 1GiB on NCCL]")
@option("-f", "--step-factor", type=click.IntRange(2), help="Multiply the size by this.  [default: 4]")
@option("-i", "--step-bytes", help="Add this to the size instead.")
@option("--sizes", help="Sizes, comma-separated, instead of a range.")
@option("-d", "--dtype", default="float32", help="Element type.")
@option("-o", "--reduce-op", default="sum", help="Reduction: sum, prod, min, max, avg.")
@option("-n", "--iterations", type=_COUNT, help="Timed iterations.  [default: as --precision needs]")
@option("-w", "--warmup", type=_COUNT_OR_NONE, help="Iterations before them.  [default: until steady]")
@option("--precision", type=Number(0.01, 100), default=2.0, help="Half-width of the median's 95 % interval, in %.")
@option("--budget", type=Number(0.001), default=0.2, help="Seconds that a row may take to get there.")
@option("--cadence", type=_CADENCES, default="stream", help="Back to back, or one by one.")
@option("--placement", type=_PLACEMENTS, default="natural", help="Forms of the operations to run.")
@option("--cuda-graph", is_flag=True, help="Replay a CUDA graph: cheaper launches (GPUs only).")
@option("-c", "--checks", type=_COUNT_OR_NONE, default=1, help="Rounds of checking data; 0 = none.")
@started
@option("--min-busbw", type=Number(0), help="GB/s that each operation must reach at its largest size.")
@option("--events", is_flag=True, help="Print the event stream too, for `nccltool collect`.")
@option("--loop", help="Measure again and again, so long from start to start: 10min.")
@option("--serve", metavar="HOST:PORT", help="With --loop: serve what was found, as `nccltool serve` does.")
@verbose
@option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@shown
@exit_styled
@kept
def command(**options: Any) -> None:
    """Bandwidth and latency of collectives over ranks and nodes, with checked data.

    With no cluster around, --nodes N starts N torch elastic agents on this host and says that the nodes are
    emulated. On real hosts, start the same command on each with --node-rank R --rdzv-endpoint HOST:PORT.
    Inside a job of torchrun, srun or mpirun the command is the worker, and rank 0 shows the result.
    """
    from nccltool.cli.screen import carry_out
    from nccltool.probe import options as probe_options
    from nccltool.probe.run import Probe

    loop, serve = options.pop("loop"), options.pop("serve")
    if loop or serve:
        raise SystemExit(_looped(loop, serve, options))
    carry_out(Probe, probe_options.from_options(asked(options, injected_fault())), options)


def asked(options: Mapping[str, Any], fault: str = "") -> "ProbeOptions":
    from nccltool.launch.options import StartOptions
    from nccltool.probe.options import ProbeOptions

    return group(ProbeOptions, options, start=group(StartOptions, options, fault=fault))


def _looped(loop: str | None, serve: str | None, options: Mapping[str, Any]) -> int:
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.core.errors import BadInput
    from nccltool.core.units import parse_duration
    from nccltool.launch import torch_needed
    from nccltool.monitor import probe_loop
    from nccltool.probe import options as probe_options

    if not loop:
        raise BadInput("--serve goes with --loop", "use nccltool serve beside single runs")
    every_s = parse_duration(loop, "--loop")
    if every_s < probe_loop.LEAST_S:
        raise BadInput(f"--loop {loop} is too short", f"at least {probe_loop.LEAST_S:g} s")
    order = probe_options.from_options(asked(options, injected_fault()))
    torch_needed.require(order.launch, "probe")
    if not order.job.node_ranks:
        raise BadInput("--loop: a job of a launcher ends; it cannot go on for ever", "leave out --loop there")
    return probe_loop.ProbeLoop(
        words=this_command()[1:],
        every_s=every_s,
        listen=serve,
        base=run_directory.base_folder(options["run_dir"]),
        say=lambda text: click.echo(text, err=True),
    ).run()
