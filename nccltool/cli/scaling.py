"""--scaling: the same command with different numbers of ranks, each a run of its own, and how its speed grows."""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from nccltool.cli import INTERRUPTED, progress, run_progress
from nccltool.cli.deliveries import every
from nccltool.cli.options import CommandEnded, option
from nccltool.cli.streams import say
from nccltool.core.errors import BadInput
from nccltool.core.text import counted, escaped

if TYPE_CHECKING:
    from nccltool.compare.scaling_series import SeriesMember
    from nccltool.launch.options import StartOptions
    from nccltool.launch.order import LaunchOrder
    from nccltool.probe.result import Run
    from nccltool.probe.run import Probe
    from nccltool.probe.world_sizes import WorldSize
    from nccltool.train.series import LeftOut

scaling = option(
    "--scaling",
    metavar="RANKS,...",
    settable="no",
    help="Run once with each number of ranks and show how speed scales: 1,2,4,8.",
)
global_batch = option(
    "--global-batch",
    metavar="N|none",
    settable="no",
    help="With --scaling: sequences of all ranks for strong scaling; none: weak scaling only."
    "  [default: the smallest that fits]",
)
_NOT_TOGETHER = (
    *("node_rank", "events", "loop", "serve", "split", "plot", "metrics", "min_busbw"),
    *("tensorboard", "profile", "checkpoint", "kill_rank", "tune"),
)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of the series, ready to be started."""

    world: "WorldSize"
    order: "LaunchOrder[Any]"
    what: str
    """`weak scaling` or the like; empty = of a probe."""


def batches(sizes: Sequence[int], per_rank: int, asked: str | None, unit: int = 1) -> tuple[int, ...]:
    """Sequences per rank of each run of strong scaling, all of them the same number together; () = none is asked
    for. `unit`: what they are a multiple of. Raises BadInput."""
    if asked == "none":
        return ()
    step = math.lcm(*sizes) * unit
    if asked is None:
        whole = math.ceil(per_rank * min(sizes) / step) * step
    elif asked.isascii() and asked.isdecimal() and 0 < len(asked) < 10 and int(asked):
        whole = int(asked)
    else:
        raise BadInput(
            f"--global-batch {asked[:20]!r} is not a number of sequences", "use a number from 1, or none"
        )
    for size in sizes:
        if whole % (size * unit):
            parts = f" in {unit} parts each" if unit > 1 else ""
            raise BadInput(
                f"--global-batch {whole} cannot be divided by --scaling {size}{parts}", f"use a multiple of {step}"
            )
    return tuple(whole // size for size in sizes)


def refuse(options: Mapping[str, Any]) -> None:
    """What a series has no place for. Raises BadInput."""
    for name in _NOT_TOGETHER:
        value = options.get(name)
        if value is not None and value is not False and value != ():
            raise BadInput(f"--{name.replace('_', '-')} cannot be combined with --scaling", "omit one of them")
    from nccltool.compare.scaling_series import FORMATS

    if other := next((one.form for one in every() if one.form not in FORMATS), None):
        raise BadInput(f"--format {other} cannot show a series (--scaling)", f"choose from {', '.join(FORMATS)}")


def worlds(text: str, start: "StartOptions") -> "tuple[WorldSize, ...]":
    """The sizes that --scaling names. Raises BadInput."""
    import os

    from nccltool.launch import order
    from nccltool.probe import world_sizes

    sizes = world_sizes.read(text)
    joined = order.joined(start, os.environ)
    return world_sizes.of(sizes, joined, order.plan_launch(joined, os.environ))


def carry_out(
    kind: "type[Probe]",
    planned: Sequence[PlannedRun],
    options: Mapping[str, Any],
    left_out: "Sequence[LeftOut]" = (),
) -> NoReturn:
    """Run all of them, one after the other, show how the speed grows, and end with the exit code of the worst.
    `left_out`: what has no place in the series."""
    import click

    from nccltool.cli.outlet import deliver_each, ready_to_deliver
    from nccltool.compare import scaling as judge
    from nccltool.compare.scaling_series import ScalingSeries, render
    from nccltool.core import verdicts
    from nccltool.launch import torch_needed

    name = click.get_current_context().command.name or ""
    torch_needed.require(planned[0].order.launch, name)
    ready_to_deliver()
    runs: list[Run] = []
    members: list[SeriesMember] = []
    for run, member in _each(kind, planned, options, name):
        runs.append(run)
        members.append(member)
    verdict = min(
        (run.verdict for run in runs), key=lambda one: (one.exit_code != INTERRUPTED, verdicts.badness(one))
    )
    series = ScalingSeries(
        command=name,
        verdict=verdict,
        members=tuple(members),
        asked=len(planned),
        curves=judge.curves(runs),
        left_out=(*left_out, *judge.left_out(runs)),
    )
    deliver_each(lambda form, look: render(series, form, look))
    if series.curves and not options["quiet"]:
        say(f"draw the curves: {_report_of(members, options['run_dir'])}")
    raise CommandEnded(verdict.status, verdict.exit_code)


def _report_of(members: "Sequence[SeriesMember]", run_dir: str | None) -> str:
    """The command that shows the whole series."""
    folder = ("--run-dir", run_dir) if run_dir else ()
    return escaped(
        shlex.join(["nccltool", "report", *(one.run for one in members), *folder, "--output", "scaling.html"])
    )


def _each(
    kind: "type[Probe]", planned: Sequence[PlannedRun], options: Mapping[str, Any], name: str
) -> "Iterator[tuple[Run, SeriesMember]]":
    """The runs, up to the one that is interrupted; each is saved before the next is started."""
    from nccltool.api import commands
    from nccltool.cli.screen import remember
    from nccltool.compare.scaling_series import SeriesMember
    from nccltool.core import signals
    from nccltool.core.documents import this_command
    from nccltool.core.run_directory import base_folder

    for number, one in enumerate(planned, start=1):
        probe = kind(
            order=one.order,
            runs_folder=base_folder(options["run_dir"]),
            min_busbw_gb_per_s=None,
            command=this_command(),
        )
        ranks, nodes = counted(one.world.ranks, "rank"), counted(one.world.nodes, "node")
        where = f"run {number} of {len(planned)}: {ranks} on {nodes}"
        if not options["quiet"]:
            say(f"{where}{one.what and ', '}{one.what}")
        with signals.held(), progress.shown(run_progress.RunNews(), "", options["quiet"], False) as shown:
            run, folder = commands.measured(probe, name, shown.update)
        remember(folder, options)
        errors = tuple(finding for finding in run.findings if finding.is_error)
        for finding in errors:
            say(escaped(finding.headline))
        verdict = run.verdict
        yield (
            run,
            SeriesMember(
                run=run.info.id,
                folder=str(folder),
                ranks=one.world.ranks,
                nodes=one.world.nodes,
                status=verdict.status,
                exit_code=verdict.exit_code,
                findings=errors,
            ),
        )
        if verdict.exit_code == INTERRUPTED:
            return


def planned(
    worlds: "Sequence[WorldSize]",
    make: "Callable[[WorldSize, int | None], LaunchOrder[Any]]",
    rows: "Sequence[tuple[str, Sequence[int | None]]]",
) -> list[PlannedRun]:
    """All runs, found out to be possible before the first is started. `rows`: what is varied, and the batch of
    each size; runs that would be the same are made once. Raises BadInput."""
    seen: set[tuple[int, int | None]] = set()
    made = []
    for what, per_world in rows:
        for world, batch in zip(worlds, per_world, strict=True):
            if (world.ranks, batch) not in seen:
                seen.add((world.ranks, batch))
                sequences = "" if batch is None else f" with {counted(batch, 'sequence')} per rank"
                made.append(PlannedRun(world, make(world, batch), f"{what}{sequences}"))
    return made
