"""nccltool train."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nccltool.cli import options as shared
from nccltool.cli import scaling, values
from nccltool.cli.command import ToolCommand
from nccltool.cli.deliveries import several
from nccltool.cli.options import Number, group, injected_fault, option
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput
from nccltool.train.strategies import WORDS
from nccltool.train.views import FORMATS

if TYPE_CHECKING:
    from nccltool.launch.options import StartOptions
    from nccltool.probe.result import Run
    from nccltool.train.options import TrainOptions
    from nccltool.train.strategies.base import OptionTraits

_SOME = click.IntRange(1)
_FOLDER = click.Path(file_okay=False)
_FILE = click.Path(dir_okay=False)
_STRATEGY = "Strategy"
_HELP = f"""Run small training jobs and check every step against a single-process reference.

STRATEGY is a parallelism strategy, several separated by commas, or all: {", ".join(WORDS)}. Ranks are started
as by `nccltool probe`. With --like, the plan names the strategy.
"""


class _TrainCommand(ToolCommand):
    """Has the options of strategies when they are looked at: the list of all commands does not wait for them."""

    _is_whole = False

    @property
    def params(self) -> list[click.Parameter]:
        if not self._is_whole:
            self._is_whole = True
            place = [one.name for one in self._params].index("checkpoint")
            self._params[place:place] = _of_strategies()
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params


def _of_strategies() -> list[click.Parameter]:
    """Options that groups of the training's options declare: most are for some strategies only."""
    from nccltool.train import strategies
    from nccltool.train.strategies.base import CommonOptions, traits, word

    known = sorted((*strategies.options().values(), *fields(CommonOptions)), key=lambda one: traits(one).place)
    command = click.Command("train")
    for field in reversed(known):
        taken = _taken(field.default, traits(field))
        section(_STRATEGY, option(word(field), help=traits(field).help, **taken))(command)
    return command.params[::-1]


def _taken(default: object, traits: "OptionTraits") -> dict[str, Any]:
    if traits.is_folder:
        return {"type": _FOLDER}
    if isinstance(default, bool):
        return {"is_flag": True, "settable": "project"}
    kind: Any = click.Choice(traits.choices) if traits.choices else None
    if isinstance(default, float) or traits.is_above_least:
        kind = Number(traits.least, min_open=traits.is_above_least)
    elif traits.least is not None:
        kind = click.IntRange(int(traits.least), traits.most)
    return {"type": kind, "default": default or None, "metavar": traits.metavar or None, "settable": "project"}


@click.command(
    "train", cls=_TrainCommand, help=_HELP, short_help="Run small training jobs and check them against a reference"
)
@click.argument("strategy", required=False, shell_complete=values.strategies)
@section(
    "Model and data",
    option(
        "--size", type=click.Choice(("tiny", "125m", "1b")), default="tiny", settable="project", help="Model size."
    ),
    option(
        "--like",
        type=_FILE,
        metavar="FILE",
        settable="no",
        help="Train the plan in FILE (`nccltool plan --format json`), scaled down.",
    ),
    option("--layers", type=_SOME, settable="project", help="Transformer blocks.  [default: from --size]"),
    option("--width", type=_SOME, settable="project", help="Model width.  [default: from --size]"),
    option("--heads", type=_SOME, settable="project", help="Attention heads.  [default: from --size]"),
    option(
        "--context",
        type=_SOME,
        metavar="TOKENS",
        settable="project",
        help="Sequence length.  [default: from --size]",
    ),
    option(
        "--vocabulary",
        type=_SOME,
        metavar="TOKENS",
        settable="project",
        help="Vocabulary size.  [default: from --size]",
    ),
    option("--batch", type=_SOME, settable="project", help="Sequences per rank and step.  [default: from --size]"),
    option(
        "--seed",
        type=click.IntRange(0, 2**31),
        default=1,
        settable="project",
        help="Seed of the weights and the data.",
    ),
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
        "--data",
        type=_FOLDER,
        help="Train with the files of DIR, a token per byte.  [default: synthetic tokens]",
    ),
    option(
        "--data-workers",
        type=click.IntRange(0, 64),
        default=0,
        metavar="N",
        help="With --data: processes per rank that read ahead.",
    ),
)
@section(
    "Training",
    option(
        "--steps",
        type=click.IntRange(1, 10**4),
        default=6,
        settable="project",
        help="Steps to compare with the reference.",
    ),
    option(
        "--time-steps",
        type=click.IntRange(0, 10**4),
        default=10,
        settable="project",
        help="Steps to time afterwards; 0: none.",
    ),
    option(
        "--tune",
        is_flag=True,
        settable="no",
        help="Also compare other overlap settings; recommend a faster one.",
    ),
    option(
        "--learning-rate",
        type=Number(0),
        metavar="RATE",
        settable="project",
        help="Learning rate.  [default: 0.1; AdamW: 0.001]",
    ),
    option(
        "--momentum",
        type=Number(0, 1, max_open=True),
        default=0.0,
        metavar="FACTOR",
        settable="project",
        help="Momentum of SGD.",
    ),
)
@section("Series", scaling.scaling, scaling.global_batch)
@section(
    "Checkpoints and restarts",
    option("--checkpoint", type=_FOLDER, help="Save to DIR, shared by all hosts, and resume from it."),
    option(
        "--checkpoint-every",
        type=_SOME,
        default=1,
        metavar="STEPS",
        settable="project",
        help="Steps between checkpoints.",
    ),
    option(
        "--grace",
        type=Number(0, 86_400),
        default=0.0,
        metavar="SECONDS",
        settable="project",
        help="At SIGTERM, save a checkpoint within SECONDS, then end; 0: end at once.",
    ),
    option(
        "--max-restarts",
        type=click.IntRange(0, 100),
        default=0,
        settable="project",
        help="Restart all ranks up to N times.",
    ),
    option(
        "--kill-rank",
        type=click.IntRange(0),
        metavar="RANK",
        settable="no",
        help="Fault injection: send SIGKILL to RANK once.",
    ),
    option(
        "--at-step",
        type=_SOME,
        metavar="STEP",
        settable="no",
        help="With --kill-rank: in this step of the first strategy.",
    ),
)
@shared.started
@section(
    shared.OUTPUT,
    option("--profile", type=_FOLDER, help="Write a trace of eight steps per rank to DIR, on the rank's host."),
    option("--tensorboard", type=_FOLDER, help="Write TensorBoard event files to DIR, one per strategy."),
    option("--events", is_flag=True, settable="no", help="Also print the event stream, for `nccltool collect`."),
    shared.verbose,
    shared.quiet,
    several(*FORMATS),
)
@shared.handed_over
@shared.exit_styled
@shared.kept
@shared.history
def command(**options: Any) -> None:
    """Run small training jobs and check every step against a single-process reference."""
    from nccltool.cli import profiles
    from nccltool.cli.screen import carry_out
    from nccltool.train import options as train_options
    from nccltool.train import tensorboard
    from nccltool.train.result import TrainRun
    from nccltool.train.run import SmokeTrainings

    if options["scaling"]:
        _scaled(options)
    if options["global_batch"]:
        raise BadInput("--global-batch needs --scaling", "for a single run, use --batch: sequences per rank")
    order = train_options.from_options(asked(options, injected_fault()))
    folder = options["tensorboard"] if order.leads else None
    if folder:
        tensorboard.ready(Path(folder))

    def at_end(run: "Run") -> None:
        assert isinstance(run, TrainRun)
        if order.leads and options["profile"] and not options["quiet"]:
            profiles.tell(run, order.job.train.profile)
        if folder:
            tensorboard.write(Path(folder), run.info, run.trainings)

    carry_out(SmokeTrainings, order, options, at_end)


def _scaled(options: Mapping[str, Any]) -> NoReturn:
    """--scaling: weak and strong scaling, a run for each number of ranks. Raises BadInput."""
    from nccltool.train import options as train_options
    from nccltool.train import series
    from nccltool.train.run import SmokeTrainings

    scaling.refuse(options)
    whole = asked(options, injected_fault())
    worlds = scaling.worlds(options["scaling"], whole.start)
    first = train_options.from_options(replace(whole, start=worlds[0].start(whole.start)))
    made = series.of(first.job.train, [one.ranks for one in worlds], sequences=whole.batch)
    ranks = [one.ranks for one in worlds if one.ranks in made.strategies]
    strong = scaling.batches(ranks, made.sequences, options["global_batch"], made.unit)
    rows: list[tuple[str, Sequence[int | None]]] = [("weak scaling", [made.sequences] * len(ranks))]
    if strong:
        rows.append(("strong scaling", strong))
    order = scaling.planned(
        [one for one in worlds if one.ranks in made.strategies],
        lambda world, batch: train_options.from_options(
            replace(
                whole,
                start=world.start(whole.start),
                batch=batch,
                strategy=made.strategies[world.ranks],
                series=tuple(ranks),
            )
        ),
        rows,
    )
    scaling.carry_out(SmokeTrainings, order, options, made.left_out)


def asked(options: Mapping[str, Any], fault: str = "") -> "TrainOptions":
    from nccltool.launch.options import StartOptions
    from nccltool.train import strategies
    from nccltool.train.checkpoint_options import CheckpointOptions
    from nccltool.train.options import TrainOptions

    start = group(StartOptions, options, fault=fault)
    given = {**options, "checkpoint": group(CheckpointOptions, options), "own": strategies.given(options)}
    if options["like"]:
        given = {**given, **_like(options, start)}
    elif options["strategy"] is None:
        raise BadInput(
            "STRATEGY is missing", f"choose from {', '.join(WORDS)}, or all; or give a plan: --like FILE"
        )
    return group(TrainOptions, given, start=start)


def _like(options: Mapping[str, Any], start: "StartOptions") -> dict[str, Any]:
    """What the plan of --like says, where no option says otherwise. Raises BadInput."""
    import os

    from nccltool.cli.streams import say
    from nccltool.core.text import escaped
    from nccltool.plan import like
    from nccltool.train import strategies

    if options["strategy"]:
        raise BadInput(
            f"--like cannot be combined with the strategy {options['strategy']}",
            "the plan names it: omit one of them",
        )
    found = like.of(like.read(options["like"]), options["like"], like.place(start, os.environ))
    if not options["quiet"]:
        for note in found.notes:
            say(escaped(f"--like: {note}"))
    source, spec = click.get_current_context().get_parameter_source, found.spec
    planned = {name: getattr(spec, name) for name in like.FIELDS}
    return {
        **{name: value for name, value in planned.items() if source(name) == click.core.ParameterSource.DEFAULT},
        "strategy": spec.strategies[0],
        "own": {**spec.options, **strategies.given(options)},
    }
