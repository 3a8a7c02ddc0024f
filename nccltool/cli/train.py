"""nccltool train."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import options as shared
from nccltool.cli.options import Number, group, injected_fault, option
from nccltool.train.strategies import WORDS

if TYPE_CHECKING:
    from nccltool.probe.result import Run
    from nccltool.train.options import TrainOptions
    from nccltool.train.strategies.base import OptionTraits

_SOME = click.IntRange(1)
_FOLDER = click.Path(file_okay=False)
_HELP = f"""Small real trainings, each step held against a single process.

STRATEGY is one way to train in parallel, several with commas between them, or all: {", ".join(WORDS)}. The
ranks are started as those of `nccltool probe` are.
"""


class _TrainCommand(click.Command):
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
        option(word(field), help=traits(field).help, **_taken(field.default, traits(field)))(command)
    return command.params[::-1]


def _taken(default: object, traits: "OptionTraits") -> dict[str, Any]:
    if isinstance(default, bool):
        return {"is_flag": True}
    kind: Any = click.Choice(traits.choices) if traits.choices else None
    if isinstance(default, float) or traits.is_above_least:
        kind = Number(traits.least, min_open=traits.is_above_least)
    elif traits.least is not None:
        kind = click.IntRange(int(traits.least), traits.most)
    return {"type": kind, "default": default or None}


@click.command("train", cls=_TrainCommand, help=_HELP)
@click.argument("strategy")
@option("--size", type=click.Choice(("tiny", "125m", "1b")), default="tiny", help="Size of the model.")
@option("--layers", type=_SOME, help="Transformer blocks.  [default: as --size says]")
@option("--width", type=_SOME, help="Width of the model.  [default: as --size says]")
@option("--heads", type=_SOME, help="Attention heads.  [default: as --size says]")
@option("--context", type=_SOME, help="Tokens of a sequence.  [default: as --size says]")
@option("--vocabulary", type=_SOME, help="Different tokens.  [default: as --size says]")
@option("--batch", type=_SOME, help="Sequences of each rank in a step.  [default: as --size says]")
@option("--steps", type=click.IntRange(1, 10**4), default=6, help="Steps to hold against the reference.")
@option("--time-steps", type=click.IntRange(0, 10**4), default=10, help="Steps to time after them; 0 = none.")
@option("--seed", type=click.IntRange(0, 2**31), default=1, help="Of the model and of the data.")
@option("--learning-rate", type=Number(0), default=0.1, help="Of plain SGD.")
@option("--momentum", type=Number(0, 1, max_open=True), default=0.0, help="Of SGD.")
@option("-d", "--dtype", default="float32", help="Element type.")
@option("--checkpoint", type=_FOLDER, help="Save into this folder, which all hosts share, and go on from there.")
@option("--checkpoint-every", type=_SOME, default=1, help="Steps between two checkpoints.")
@option("--max-restarts", type=click.IntRange(0, 100), default=0, help="Start all ranks anew so often.")
@option("--kill-rank", type=click.IntRange(0), help="A drill: this rank gets SIGKILL, once.")
@option("--at-step", type=_SOME, help="In this step of the first strategy.")
@shared.started
@option("--profile", type=_FOLDER, help="Folder for a trace of three steps of each rank, on its own host.")
@option("--tensorboard", type=_FOLDER, help="Folder for a TensorBoard event file of each strategy.")
@option("--events", is_flag=True, help="Print the event stream too, for `nccltool collect`.")
@shared.verbose
@option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@shared.formats("table", "json")
@shared.exit_styled
@shared.written
@shared.kept
def command(**options: Any) -> None:
    """Small real trainings, each step held against a single process."""
    from nccltool.cli.screen import carry_out
    from nccltool.train import options as train_options
    from nccltool.train import tensorboard
    from nccltool.train.result import TrainRun
    from nccltool.train.run import SmokeTrainings

    order = train_options.from_options(asked(options, injected_fault()))
    if not options["tensorboard"] or not order.leads:
        carry_out(SmokeTrainings, order, options)
    folder = Path(options["tensorboard"])
    tensorboard.ready(folder)

    def write_events(run: "Run") -> None:
        assert isinstance(run, TrainRun)
        tensorboard.write(folder, run.info, run.trainings)

    carry_out(SmokeTrainings, order, options, write_events)


def asked(options: Mapping[str, Any], fault: str = "") -> "TrainOptions":
    from nccltool.launch.options import StartOptions
    from nccltool.train import strategies
    from nccltool.train.checkpoint_options import CheckpointOptions
    from nccltool.train.options import TrainOptions

    given = {**options, "checkpoint": group(CheckpointOptions, options), "own": strategies.given(options)}
    return group(TrainOptions, given, start=group(StartOptions, options, fault=fault))
