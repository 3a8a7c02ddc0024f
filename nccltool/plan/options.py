"""From the words of `nccltool plan` to an order; every word that cannot be used is one clear sentence."""

import math
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.unknown_names import unknown
from nccltool.plan import machines, measured_runs, models, scaling
from nccltool.plan.hardware import Machine
from nccltool.plan.model import Model
from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS, Recipe
from nccltool.plan.scaling import PredictedCurve
from nccltool.plan.search import Wanted
from nccltool.plan.words import STRATEGY_WORDS
from nccltool.train.result import TrainRun

_SEQUENCE = 4096
_PER_GPU = 4
"""Sequences of a step for each GPU, where no global batch is given."""
_TOKENS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOptions:
    """The options of `nccltool plan` as they were given; a field has the name of its option."""

    gpus: int
    machine: str | None
    run: str | None
    sequence: int | None
    step_sequences: int | None
    micro_batch: int | None
    training_precision: str
    optimizer: str
    recomputation: str
    compiled_loss: bool
    offload: bool
    mfu: str | None
    """A percentage, or a run."""
    strategy: str | None
    tp: int | None
    cp: int | None
    pp: int | None
    ep: int | None
    schedule: str
    tokens: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOrder:
    """What to plan."""

    model: Model
    machine: Machine
    is_assumed: bool
    """Nobody named the machine."""
    recipe: Recipe
    wanted: Wanted
    mfu: float | None
    tokens: int | None
    scaling: tuple[PredictedCurve, ...] = ()
    """Of trainings that were named."""


def from_options(model: str, options: PlanOptions, runs: Path) -> PlanOrder:
    """Raises BadInput. `runs`: the folder of saved runs."""
    shape = models.of_word(model)
    machine = machines.of_word(options.machine or machines.USUAL)
    curves: tuple[PredictedCurve, ...] = ()
    if options.run is not None:
        found = measured_runs.named(options.run, runs)
        curves = scaling.of(found, machine)
        probes = [run for run in found if not isinstance(run, TrainRun)]
        machine = machines.with_probes(machine, probes, options.run) if probes else machine
    if options.offload and machine.pcie_bytes_per_s is None:
        raise BadInput(
            f"--offload: the PCIe bandwidth of {machine.name} is unknown", 'set pcie = "... GB/s" there'
        )
    mfu = None
    if options.mfu is not None and measured_runs.is_percentage(options.mfu):
        mfu = _mfu(options.mfu)
    elif options.mfu is not None:
        machine = measured_runs.with_arithmetic(machine, options.mfu, runs)
    recipe = Recipe(
        precision=PRECISIONS[options.training_precision],
        optimizer=OPTIMIZERS[options.optimizer],
        sequence=_sequence(shape, options.sequence),
        global_batch=options.step_sequences or _PER_GPU * options.gpus,
        recompute=None if options.recomputation == "auto" else options.recomputation,  # type: ignore[arg-type]
        micro_batch=options.micro_batch,
        is_loss_compiled=options.compiled_loss,
        is_offloaded=options.offload,
    )
    return PlanOrder(
        model=shape,
        machine=machine,
        is_assumed=options.machine is None,
        recipe=recipe,
        wanted=_wanted(options),
        mfu=mfu,
        tokens=None if options.tokens is None else _tokens(options.tokens),
        scaling=curves,
    )


def _mfu(text: str) -> float:
    percent = float(text)
    if not 1 <= percent <= 100:
        raise BadInput(
            f"--mfu {text} is not from 1 to 100 percent", "for example --mfu 45, or a run of nccltool train"
        )
    return percent / 100


def _sequence(model: Model, asked: int | None) -> int:
    """A learned table of positions is as long as it is."""
    if asked is None:
        return min(_SEQUENCE, model.positions or _SEQUENCE)
    if model.positions and asked > model.positions:
        raise BadInput(
            f"--sequence {asked}: {model.name} has positions for {model.positions} tokens",
            f"use at most --sequence {model.positions}",
        )
    return asked


def _wanted(options: PlanOptions) -> Wanted:
    fixed = [(f"--{name}", getattr(options, name)) for name in ("tp", "cp", "pp")]
    given = [(word, degree) for word, degree in fixed if degree]
    product = math.prod(degree for _, degree in given)
    if options.gpus % product:
        words = " x ".join(f"{word} {degree}" for word, degree in given)
        words += f" = {product}" if len(given) > 1 else ""
        below, above = options.gpus // product * product, -(-options.gpus // product) * product
        near = " or ".join(str(one) for one in (below, above) if one)
        raise BadInput(f"--gpus {options.gpus} is not a multiple of {words}", f"use --gpus {near}")
    strategies = tuple(word.strip().lower() for word in options.strategy.split(",")) if options.strategy else ()
    for word in strategies:
        if word not in STRATEGY_WORDS:
            raise unknown("strategy", word, STRATEGY_WORDS, option="--strategy")
    return Wanted(
        gpus=options.gpus,
        strategies=strategies,
        tensor=options.tp,
        context=options.cp,
        pipeline=options.pp,
        expert=options.ep,
        schedule=options.schedule,
    )


def _tokens(text: str) -> int:
    unit = text[-1:].upper()
    number = text[:-1] if unit in _TOKENS and unit else text
    try:
        tokens = float(number) * _TOKENS.get(unit, 1.0)
    except ValueError:
        tokens = math.nan
    if not 1 <= tokens <= 1e18:
        raise BadInput(f"--tokens {text[:40]!r} is not a number of tokens", "for example --tokens 2T or 300B")
    return int(tokens)
