"""nccltool pairs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import options as shared
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.localize_options import judged
from nccltool.cli.options import Number, group, injected_fault, option
from nccltool.cli.tree import section
from nccltool.localize.views import FORMATS

if TYPE_CHECKING:
    from nccltool.localize.pairs.options import PairsOptions
    from nccltool.probe.result import Run


@click.command("pairs", cls=ToolCommand, short_help="Find the slow node, link, or direction by measuring pairs")
@section(
    "What to measure",
    option(
        "--op",
        "pair_op",
        type=click.Choice(("all_reduce", "send_recv")),
        default="all_reduce",
        settable="project",
        help="Operation; send_recv also measures each direction alone.",
    ),
    option(
        "--bytes",
        metavar="SIZE",
        settable="project",
        help="Size of each call.  [default: 4MiB on Gloo, 256MiB on NCCL]",
    ),
    option(
        "--pair-time",
        type=Number(0.001),
        default=0.5,
        metavar="SECONDS",
        settable="project",
        help="Longest time to spend on one pair.",
    ),
    option(
        "--rounds",
        type=click.IntRange(1, 10**4),
        default=12,
        settable="project",
        help="Maximum number of rounds; stops earlier once the result is certain.",
    ),
    option("--all-pairs", is_flag=True, settable="project", help="Measure every pair."),
    option(
        "--groups",
        type=click.IntRange(2, 16),
        default=2,
        settable="project",
        help="Measure groups of N nodes instead of pairs.",
    ),
    option("--within", is_flag=True, settable="project", help="Measure pairs of ranks inside each node."),
    option(
        "--rails",
        metavar="NAMES",
        settable="project",
        help="Measure each of these interfaces or adapters alone: eth0,eth1. With NCCL, one per run.",
    ),
    option(
        "--isolated",
        is_flag=True,
        settable="project",
        help="Start a job for each pair: a node that dies or hangs costs only its own tests.",
    ),
)
@judged
@shared.started
@section(
    shared.OUTPUT,
    option("--events", is_flag=True, settable="no", help="Also print the event stream, for `nccltool collect`."),
    shared.verbose,
    shared.quiet,
    several(*FORMATS),
)
@shared.plot
@shared.handed_over
@shared.exit_styled
@shared.kept
@shared.history
def command(**options: Any) -> None:
    """Measure disjoint pairs of nodes at the same time, round after round, and name what is slow.

    Nodes are started as by `nccltool probe`. Rounds end when the result is certain; a suspect is measured with
    two other nodes before it is accused.
    """
    from nccltool.cli.localize_options import exclude, ready_to_exclude
    from nccltool.cli.screen import carry_out, draw
    from nccltool.core.errors import BadInput
    from nccltool.localize.localized import LocalizedRun
    from nccltool.localize.pairs import options as pairs_options
    from nccltool.localize.pairs.run import Pairs

    if options["groups"] > 2 and options["plot"]:
        raise BadInput("--plot shows pairs, and --groups measures none", "leave out --plot")
    order = pairs_options.from_options(asked(options, injected_fault()))
    if order.leads:
        ready_to_exclude(options["write_exclude"])

    def write(run: "Run") -> None:
        assert isinstance(run, LocalizedRun)
        if order.leads:
            try:
                exclude(run, options["write_exclude"])
            finally:  # one that cannot be written costs no other
                draw(run, options["plot"])

    carry_out(Pairs, order, options, write)


def asked(options: Mapping[str, Any], fault: str = "") -> "PairsOptions":
    from nccltool.launch.options import StartOptions
    from nccltool.localize.pairs.options import PairsOptions

    return group(PairsOptions, options, start=group(StartOptions, options, fault=fault))
