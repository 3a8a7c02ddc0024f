"""Options of commands that name what is slow among nodes."""

from typing import TYPE_CHECKING

import click

from nccltool.cli.options import OUTPUT, option, together
from nccltool.cli.tree import section

if TYPE_CHECKING:
    from nccltool.localize.localized import LocalizedRun

topology = option(
    "--topology",
    type=click.Path(dir_okay=False),
    settable="project",
    help="Leaf switches of nodes: Slurm's topology.conf, or lines of NODE LEAF.",
)

judged = together(
    section(
        "How to compare",
        option(
            "--expect",
            metavar="RATE|RUN",
            settable="project",
            help="What healthy nodes reach: 370GB/s, or a healthy run of nccltool pairs.",
        ),
        topology,
    ),
    section(
        OUTPUT,
        option(
            "--write-exclude",
            type=click.Path(dir_okay=False),
            help="Write the nodes that are surely at fault to FILE, for srun --exclude.",
        ),
    ),
)
"""With what speeds are compared, and the list of nodes to avoid."""


def ready_to_exclude(write_exclude: str | None) -> None:
    """Find out before the work that the list can be written. Raises BadInput."""
    from nccltool.cli.screen import writable

    if write_exclude:
        writable(write_exclude, "--write-exclude")


def exclude(run: "LocalizedRun", write_exclude: str | None) -> None:
    """Write the list of --write-exclude. Raises BadInput, ResultNotWritten."""
    from nccltool.cli.screen import write_file
    from nccltool.localize import exclude as exclude_list

    if write_exclude:
        write_file(write_exclude, exclude_list.text(run.localization).encode(), "--write-exclude")
