"""nccltool probe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nccltool.cli import scaling, values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import every, several
from nccltool.cli.localize_options import topology
from nccltool.cli.options import (
    OUTPUT,
    Number,
    exit_styled,
    group,
    handed_over,
    history,
    injected_fault,
    kept,
    option,
    plot,
    quiet,
    started,
    verbose,
)
from nccltool.cli.streams import say
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput
from nccltool.probe.views import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from nccltool.probe.options import ProbeOptions
    from nccltool.probe.split_reader import Leaves

_COUNT = click.IntRange(1, 10**6)
_COUNT_OR_NONE = click.IntRange(0, 10**6)
_CADENCES = click.Choice(("stream", "isolated"))
_PLACEMENTS = click.Choice(("natural", "in-place", "out-of-place", "both"))
_BOTH_PLACEMENTS = ("nccl-tests", "nccl-tests-json")
"""Formats whose rows have a place for both, which nccl-tests always measures."""


class _Probe(ToolCommand):
    """Knows the options of nccl-tests, whose letters it shares."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-g 1` and `-t 1` of nccl-tests say what is so here: a rank has one thread and one GPU."""
        at = [i for i, pair in enumerate(pairwise(args)) if pair in (("-g", "1"), ("-t", "1"))]
        return super().parse_args(ctx, [word for i, word in enumerate(args) if not {i, i - 1} & {*at}])

    def unknown_option(self, name: str, ctx: click.Context) -> BadInput:
        """What nccl-tests calls so, or the usual."""
        from nccltool.interop import nccl_tests_command

        return nccl_tests_command.refusal(name) or super().unknown_option(name, ctx)


@click.command("probe", cls=_Probe, short_help="Measure bandwidth and latency of collectives")
@section(
    "What to measure",
    option(
        "--op",
        "ops",
        default="all",
        metavar="OP,...",
        settable="project",
        help="Operations or all.",
        shell_complete=values.operations,
    ),
    option(
        "-b",
        "--min-bytes",
        metavar="SIZE",
        settable="project",
        help="Smallest size: 8, 64K, 1MiB.  [default: 1KiB]",
    ),
    option(
        "-e",
        "--max-bytes",
        metavar="SIZE",
        settable="project",
        help="Largest size.  [default: 16MiB on Gloo, 1GiB on NCCL]",
    ),
    option(
        "-f",
        "--step-factor",
        type=click.IntRange(2),
        metavar="FACTOR",
        settable="project",
        help="Multiply the size by FACTOR at each step.  [default: 4]",
    ),
    option("-i", "--step-bytes", metavar="SIZE", settable="project", help="Add SIZE at each step instead."),
    option("--sizes", metavar="SIZE,...", settable="project", help="Measure these sizes instead of a range."),
    option(
        "-d",
        "--dtype",
        default="float32",
        metavar="TYPE",
        settable="project",
        help="Element type.",
        shell_complete=values.dtypes,
    ),
    option(
        "-o",
        "--reduce-op",
        default="sum",
        metavar="REDUCTION",
        settable="project",
        help="Reduction: sum, prod, min, max, avg.",
        shell_complete=values.reductions,
    ),
    option(
        "--skew",
        metavar="SKEW,...",
        settable="project",
        help="all_to_all_v: uniform, zipf:1.1, one-hot.  [default: uniform]",
    ),
    option(
        "--placement",
        type=_PLACEMENTS,
        settable="project",
        help="In-place or out-of-place form of each operation; nccl-tests formats: both.  [default: natural]",
    ),
    option(
        "-c",
        "--checks",
        type=_COUNT_OR_NONE,
        default=1,
        metavar="ROUNDS",
        settable="project",
        help="Data check rounds; 0: no check.",
    ),
)
@section(
    "How to measure",
    option(
        "-n",
        "--iterations",
        type=_COUNT,
        settable="project",
        help="Timed iterations.  [default: as --precision requires]",
    ),
    option(
        "-w",
        "--warmup",
        type=_COUNT_OR_NONE,
        settable="project",
        help="Warm-up iterations.  [default: until times settle]",
    ),
    option(
        "--precision",
        type=Number(0.01, 100),
        default=2.0,
        metavar="PERCENT",
        settable="project",
        help="Target half-width of the median's 95 % confidence interval.",
    ),
    option(
        "--budget",
        type=Number(0.001),
        default=0.2,
        metavar="SECONDS",
        settable="project",
        help="Longest time to spend on one row for --precision.",
    ),
    option(
        "--cadence",
        type=_CADENCES,
        default="stream",
        settable="project",
        help="Issue calls back to back (stream) or one at a time (isolated).",
    ),
    option(
        "--cuda-graph",
        is_flag=True,
        settable="project",
        help="Replay a CUDA graph to cut launch overhead (GPUs only).",
    ),
    option(
        "--min-busbw",
        type=Number(0),
        metavar="GB/S",
        settable="project",
        help="Fail if an operation is slower at its largest size.",
    ),
    option(
        "--split",
        metavar="node|rail|leaf|N|FILE",
        help="Divide the ranks into groups that run at the same time: the ranks of a node, a rail, "
        "a leaf switch, N nodes, or a line of FILE.",
        settable="no",
    ),
    option(
        "--also-alone",
        is_flag=True,
        help="With --split: also measure each group while the others are idle.",
        settable="no",
    ),
    topology,
    scaling.scaling,
    option("--loop", metavar="INTERVAL", help="Measure every INTERVAL until stopped: 10min, 1h.", settable="no"),
    option(
        "--serve", metavar="HOST:PORT", help="With --loop: serve metrics, as `nccltool serve` does.", settable="no"
    ),
)
@started
@section(
    OUTPUT,
    option("--events", is_flag=True, settable="no", help="Also print the event stream, for `nccltool collect`."),
    verbose,
    quiet,
)
@several(*FORMATS)
@plot
@handed_over
@exit_styled
@kept
@history
def command(**options: Any) -> None:
    """Measure bandwidth and latency of collectives across ranks and nodes, and check the data.

    Without a cluster, --nodes N emulates N nodes with processes of this host. On real hosts, use --hosts, run
    inside a Slurm allocation, or start the same command on every host with --node-rank R --rdzv-endpoint
    HOST:PORT. Under torchrun, srun or mpirun each process is one rank, and rank 0 prints the result.
    """
    from nccltool.cli.screen import carry_out
    from nccltool.probe import options as probe_options
    from nccltool.probe.run import Probe

    if options["scaling"]:
        _scaled(options)
    loop, serve = options.pop("loop"), options.pop("serve")
    if loop or serve:
        raise SystemExit(_looped(loop, serve, options))
    if options["split"]:
        _with_groups([one.form for one in every()])
    both = next((one.form for one in every() if one.form in _BOTH_PLACEMENTS), options["form"])
    carry_out(Probe, probe_options.from_options(asked({**options, "form": both}, injected_fault())), options)


def asked(options: Mapping[str, Any], fault: str = "") -> "ProbeOptions":
    from nccltool.launch.options import StartOptions
    from nccltool.probe.options import ProbeOptions

    placement = options["placement"] or ("both" if options["form"] in _BOTH_PLACEMENTS else "natural")
    chosen = {**options, "placement": placement, "leaves": _leaves(options.get("topology"))}
    return group(ProbeOptions, chosen, start=group(StartOptions, options, fault=fault))


def _scaled(options: Mapping[str, Any]) -> NoReturn:
    """--scaling: a run for each number of ranks. Raises BadInput."""
    from nccltool.probe import options as probe_options
    from nccltool.probe.run import Probe

    scaling.refuse(options)
    whole = asked(options, injected_fault())
    worlds = scaling.worlds(options["scaling"], whole.start)
    order = scaling.planned(
        worlds,
        lambda world, _: probe_options.from_options(replace(whole, start=world.start(whole.start))),
        [("", [None] * len(worlds))],
    )
    scaling.carry_out(Probe, order, options)


def _leaves(file: str | None) -> "Callable[[], Leaves | None] | None":
    def read() -> "Leaves | None":
        from nccltool.localize import topologies

        found = topologies.read(str(file))
        return None if found.is_by_name else found.leaves()

    return read if file else None


def _with_groups(forms: Sequence[str]) -> None:
    """Raises BadInput for a format that cannot tell the rows of groups apart."""
    if unable := next((form for form in forms if form in _BOTH_PLACEMENTS), None):
        raise BadInput(f"--format {unable} cannot show groups (--split)", "use table, json, or csv")


def _looped(loop: str | None, serve: str | None, options: Mapping[str, Any]) -> int:
    from nccltool.core import run_directory
    from nccltool.core.documents import this_command
    from nccltool.core.units import parse_duration
    from nccltool.launch import torch_needed
    from nccltool.monitor import metrics, probe_loop
    from nccltool.probe import options as probe_options

    if not loop:
        raise BadInput("--serve requires --loop", "for single runs, use nccltool serve")
    every_s = parse_duration(loop, "--loop")
    if every_s < probe_loop.LEAST_S:
        raise BadInput(f"--loop {loop} is too short", f"at least {probe_loop.LEAST_S:g} s")
    order = probe_options.from_options(asked(options, injected_fault()))
    torch_needed.require(order.launch, "probe")
    if not order.job.node_ranks:
        raise BadInput("--loop: a job started by a launcher must end", "leave out --loop")
    return probe_loop.ProbeLoop(
        words=this_command()[1:],
        every_s=every_s,
        listen=serve,
        base=run_directory.base_folder(options["run_dir"]),
        say=say,
        cluster=metrics.cluster_name(options["cluster"]),
    ).run()
