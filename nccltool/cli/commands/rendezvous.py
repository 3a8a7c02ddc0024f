"""nccltool rendezvous."""

import os
from pathlib import Path

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import NPROC, OUTPUT, TIMEOUT, option, written
from nccltool.cli.tree import section


@click.command("rendezvous", cls=ToolCommand, short_help="Try the ways in which ranks of a script meet")
@NPROC
@option("--rdzv-endpoint", metavar="HOST:PORT", help="Address of node 0, the same on every node.")
@option("--store-file", type=click.Path(dir_okay=False), help="File of file://.  [default: in a new folder]")
@TIMEOUT
@section(OUTPUT, written)
def command(
    nproc_per_node: str | None,
    rdzv_endpoint: str | None,
    store_file: str | None,
    timeout: float,
    output: str | None,
) -> None:
    """Try the ways in which ranks of a script meet: env://, tcp://, file://, and mp.spawn.

    Each starts ranks on this host, which add checked data once over Gloo. The result says which forms work, and
    why the others do not. Exit code 1: one does not work.
    """
    from nccltool.cli.looks import look_of
    from nccltool.cli.outlet import deliver
    from nccltool.core import scratch
    from nccltool.launch.rendezvous import trial, views
    from nccltool.launch.rendezvous.orders import orders

    with scratch.folder() as folder:
        place = Path(folder)
        asked = orders(nproc_per_node, rdzv_endpoint, store_file, timeout, os.environ, place)
        trials = [trial.tried(one, place) for one in asked]
    deliver(views.render(trials, look_of(output)), output)
    raise SystemExit(any(one.problem for one in trials))
