"""Options of commands that name what is slow among nodes."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from nccltool.cli.options import OUTPUT, option, together
from nccltool.cli.tree import section

if TYPE_CHECKING:
    from nccltool.localize.localized import LocalizedRun

topology = option(
    "--topology",
    type=click.Path(dir_okay=False),
    metavar="FILE|host-names",
    settable="project",
    help="Leaf switches: Slurm's topology.conf or topology.yaml, an NCCL log, lines of NODE LEAF, or host-names: "
    "the racks in names such as r12n03.",
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
            help="Write the nodes that are at fault with a confidence of at least 0.9 to FILE, "
            "for srun --exclude.",
        ),
    ),
)
"""With what speeds are compared, and the list of nodes to avoid."""


def keep_inputs(inputs: Sequence[str], written: Mapping[str, str | None]) -> None:
    """No file that is read is written; `written`: files by their options. Raises BadInput."""
    from nccltool.cli import deliveries
    from nccltool.core.errors import BadInput

    every = [*written.items(), *(("--output", one.output) for one in deliveries.every())]
    for option_name, file in every:
        for read in inputs:
            if file and os.path.exists(file) and os.path.exists(read) and os.path.samefile(file, read):  # noqa: PTH110, PTH121 - names too long for a file
                raise BadInput(f"{option_name} {file}: this is the input", "name another file")


def ready_to_exclude(write_exclude: str | None) -> None:
    """Find out before the work that the list can be written. Raises BadInput."""
    from nccltool.cli.outlet import writable

    if write_exclude:
        writable(write_exclude, "--write-exclude")


def exclude(run: "LocalizedRun", write_exclude: str | None) -> None:
    """Write the list of --write-exclude. Raises ResultNotWritten."""
    from nccltool.cli.outlet import write_file
    from nccltool.localize import exclude as exclude_list

    if write_exclude:
        late = "name a file in another folder, without measuring again: nccltool localize RUN --write-exclude FILE"
        write_file(write_exclude, exclude_list.text(run.localization).encode(), "--write-exclude", late)
